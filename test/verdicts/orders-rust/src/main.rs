//! Ranks versions with Cargo's SemVer library: reads one version per line, writes its rank per line, "-" if invalid. Build
//! metadata does not affect the rank.

use semver::Version;
use std::cmp::Ordering;
use std::io::{self, BufRead, Write};

fn parse(text: &str) -> Option<Version> {
    // A range's bound may omit parts.
    let parts = text.split(['-', '+']).next().unwrap_or("").split('.').count();
    let bare = text.find(['-', '+']).is_none();
    match (parts, bare) {
        (1, true) => Version::parse(&format!("{text}.0.0")).ok(),
        (2, true) => Version::parse(&format!("{text}.0")).ok(),
        _ => Version::parse(text).ok(),
    }
}

fn main() -> io::Result<()> {
    let versions: Vec<Option<Version>> = io::stdin().lock().lines().map(|line| line.map(|text| parse(&text))).collect::<Result<_, _>>()?;
    let mut order: Vec<usize> = (0..versions.len()).filter(|&index| versions[index].is_some()).collect();
    let compare = |one: usize, other: usize| match (&versions[one], &versions[other]) {
        (Some(left), Some(right)) => left.cmp_precedence(right),
        _ => Ordering::Equal,
    };
    order.sort_by(|&one, &other| compare(one, other));
    let mut ranks = vec![None; versions.len()];
    let mut rank = 0;
    for (at, &index) in order.iter().enumerate() {
        if at > 0 && compare(order[at - 1], index) != Ordering::Equal {
            rank += 1;
        }
        ranks[index] = Some(rank);
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    for found in ranks {
        match found {
            Some(rank) => writeln!(out, "{rank}")?,
            None => writeln!(out, "-")?,
        }
    }
    Ok(())
}
