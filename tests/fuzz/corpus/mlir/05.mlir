a.f @f(%x: i8) {
  a.use %x : i8
}
a.g @g(%x: i16) {
  a.use2 %x : i16
}
a.late %x : i32
