#a = #b
#b = #a
a.b {x = #a} loc(#a)
a.c {x = #none} loc(callsite(#none at #a))
a.d loc(callsite("x":1:2 at "y":3:4))
