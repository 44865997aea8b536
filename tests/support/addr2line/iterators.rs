//! Iterator chains, generics, closures and trait objects.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

trait Scale {
    fn scale(&self, by: u64) -> u64;
}

struct Plain(u64);
struct Squared(u64);

impl Scale for Plain {
    fn scale(&self, by: u64) -> u64 {
        self.0 * by
    }
}

impl Scale for Squared {
    fn scale(&self, by: u64) -> u64 {
        self.0.pow(2).wrapping_mul(by)
    }
}

#[inline(always)]
fn weigh<T: AsRef<str>>(words: &[T]) -> usize {
    words
        .iter()
        .map(|w| w.as_ref().chars().filter(|c| c.is_alphabetic()).count())
        .sum()
}

#[inline(never)]
fn group<K: Ord + Debug + Clone, V>(pairs: Vec<(K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut result = BTreeMap::new();
    for (key, value) in pairs {
        result.entry(key).or_insert_with(Vec::new).push(value);
    }
    result
}

fn main() {
    let words: Vec<String> = std::env::args()
        .chain((0..40u32).map(|i| format!("w{}", i * i % 11)))
        .collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for word in &words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    let shapes: Vec<Box<dyn Scale>> = counts
        .values()
        .map(|&n| if n % 2 == 0 { Box::new(Plain(n)) as Box<dyn Scale> } else { Box::new(Squared(n)) })
        .collect();
    let total: u64 = shapes.iter().zip(1..).map(|(s, i)| s.scale(i)).sum();
    let groups = group(words.iter().map(|w| (w.len(), w.clone())).collect());
    println!("{} {} {}", total, weigh(&words), groups.len());
    if let Some((length, group)) = groups.iter().next_back() {
        println!("{length} {group:?}");
    }
}
