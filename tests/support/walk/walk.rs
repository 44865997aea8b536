use std::hint::black_box;
#[inline(always)]
fn small(n: u64) -> u64 { let mut sum = 0u64; for i in 0..n { sum = black_box(sum.wrapping_add(i * i)); } sum }
struct Till<T>(T);
trait Work { fn inner(&self, n: u64) -> u64; }
impl<T> Work for Till<T> { #[inline(never)] fn inner(&self, n: u64) -> u64 { small(n + std::mem::size_of::<T>() as u64) + 1 } }
#[inline(never)]
fn middle<W: Work>(w: &W, n: u64) -> u64 { black_box(w.inner(n)) + 1 }
#[inline(never)]
fn outer(n: u64) -> u64 { black_box(middle(&Till(1u32), n)) + black_box(middle(&Till(1u64), n)) }
#[inline(never)]
fn steady(n: u64) -> u64 { small(n).wrapping_add(small(n + 1)) }
fn main() {
    let percent: u64 = std::env::args().nth(1).map_or(100, |text| text.parse().unwrap());
    let mut s = 0u64;
    for _ in 0..90 {
        s = s.wrapping_add(outer(black_box(20000 * percent))).wrapping_add(steady(black_box(2000000)));
    }
    println!("{}", s > 0);
}
