use std::hint::black_box;
use std::panic;
use std::thread;

#[inline(never)]
fn spin(n: u64) -> u64 {
    let mut s = 0u64;
    for i in 0..n {
        s = s.wrapping_add(black_box(i).wrapping_mul(i) ^ (s >> 3));
    }
    black_box(s)
}

#[inline(never)]
fn deep(d: u32) -> u64 {
    if d == 0 { spin(4000) } else { black_box(deep(d - 1)) + 1 }
}

#[inline(never)]
fn thrower(d: u32) -> u64 {
    if d == 0 {
        spin(2000);
        panic::resume_unwind(Box::new(7u32));
    }
    black_box(thrower(d - 1)) + 1
}

struct Guard;
impl Drop for Guard {
    fn drop(&mut self) {
        spin(2000);
    }
}

fn work(rounds: u32) {
    let closures: Vec<Box<dyn Fn(u64) -> u64>> =
        vec![Box::new(|n| spin(n)), Box::new(|n| deep((n % 50) as u32))];
    for i in 0..rounds {
        black_box(closures[(i % 2) as usize](3000 + u64::from(i)));
        let _ = panic::catch_unwind(|| {
            let _guard = Guard;
            thrower(8)
        });
        let mut v: Vec<u32> = (0..60).map(|k| (k * 7919 + i) % 101).collect();
        v.sort_by(|a, b| {
            spin(20);
            a.cmp(b)
        });
        black_box(v);
    }
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let other = thread::spawn(move || work(rounds));
    work(rounds);
    other.join().unwrap();
}
