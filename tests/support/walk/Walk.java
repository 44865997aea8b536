public class Walk {
  static long sum;
  static void inner(long n) { for (long i = 0; i < n; i++) sum += i * i ^ sum; }
  static void middle(long n) { inner(n); sum++; }
  static void outer(long n) { middle(n); sum++; }
  public static void main(String[] args) { for (int i = 0; i < 30000; i++) outer(20000); System.out.println(sum); }
}
