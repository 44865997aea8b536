import time
def inner(n):
    s = 0
    for i in range(n): s += i * i
    return s
def middle(n): return inner(n) + 1
def outer(n): return middle(n) + 1
end = time.time() + 0.8
while time.time() < end: outer(2000)
