volatile unsigned long sum;
static inline __attribute__((always_inline)) void small(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
__attribute__((noinline)) void inner(unsigned long n) { small(n); sum++; }
__attribute__((noinline)) void middle(unsigned long n) { inner(n); sum++; }
__attribute__((noinline)) void outer(unsigned long n) { middle(n); sum++; }
int main(void) { for (int i = 0; i < 9000; i++) outer(20000); return 0; }
