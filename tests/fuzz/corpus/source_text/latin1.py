# -*- coding: latin-1 -*-
x = "ü"
