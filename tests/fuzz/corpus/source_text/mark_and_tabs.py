#!/usr/bin/python3
# vim: set fileencoding=utf-8 :
def f():
	return 1
