// Functions in modules, implementations and closures, inlined with `--cfg inlined`.
use std::hint::black_box;

mod shop {
    use std::hint::black_box;

    #[cfg_attr(inlined, inline(always))]
    pub fn mix(a: u64) -> u64 {
        black_box(a) ^ 31
    }

    pub struct Till {
        pub total: u64,
    }

    impl Till {
        #[cfg_attr(inlined, inline(always))]
        pub fn add(&mut self, v: u64) -> u64 {
            self.total += mix(v);
            self.total
        }
    }

    pub mod inner {
        #[cfg_attr(inlined, inline(always))]
        pub fn turn(a: u64) -> u64 {
            let twist = |x: u64| std::hint::black_box(x) * 3;
            twist(a) + super::mix(a)
        }
    }
}

fn main() {
    let mut till = shop::Till { total: 0 };
    let sum = till.add(black_box(7)) + shop::inner::turn(black_box(9));
    std::process::exit((sum & 1) as i32);
}
