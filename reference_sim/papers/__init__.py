"""Traces that papers print, turned into captures; one module a paper."""
