//! Iterator chains, generics and closures, inlined into each other.
use std::collections::HashMap;

#[inline(never)]
fn weigh<T: AsRef<str>>(words: &[T]) -> usize {
    words.iter().map(|w| w.as_ref().chars().filter(|c| c.is_alphabetic()).count()).sum()
}

#[inline(never)]
fn group(words: &[String]) -> HashMap<usize, Vec<&str>> {
    let mut groups: HashMap<usize, Vec<&str>> = HashMap::new();
    for word in words {
        groups.entry(word.len() % 17).or_default().push(word);
    }
    groups
}

fn main() {
    let mut total = 0;
    for round in 0..60u64 {
        let mut words: Vec<String> =
            (0..5000u64).map(|i| format!("word{}", (i * i + round) % 7919)).collect();
        words.sort_by(|a, b| b.cmp(a));
        words.dedup();
        total += weigh(&words) + group(&words).values().map(Vec::len).max().unwrap_or(0);
    }
    println!("{total}");
}
