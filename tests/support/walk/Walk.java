public class Walk {
  static long sum;
  static void inner(long n) { for (long i = 0; i < n; i++) sum += i * i ^ sum; }
  static void middle(long n) { inner(n); sum++; }
  static void outer(long n) { middle(n); sum++; }
  static void steady(long n) { for (long i = 0; i < n; i++) sum += i * i ^ sum; }
  public static void main(String[] args) {
    long percent = args.length > 0 ? Long.parseLong(args[0]) : 100;
    // Enough calls for all functions to be compiled.
    for (int i = 0; i < 30000; i++) { outer(100); steady(100); }
    for (int i = 0; i < 150; i++) { outer(20000 * percent); steady(2000000); }
    System.out.println(sum);
  }
}
