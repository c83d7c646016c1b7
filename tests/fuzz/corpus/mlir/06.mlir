what is this
a.b "never closed
