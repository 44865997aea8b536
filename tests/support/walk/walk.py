import sys
def inner(n):
    s = 0
    for i in range(n): s += i * i
    return s
def middle(n): return inner(n) + 1
def outer(n): return middle(n) + 1
def steady(n):
    s = 0
    for i in range(n): s += i * i
    return s
percent = int(sys.argv[1]) if len(sys.argv) > 1 else 100
for i in range(60):
    outer(1000 * percent)
    steady(100000)
