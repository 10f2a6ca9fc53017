//! The pods of one set, shared by whoever looks at them.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::observed::Pod;
use super::workload::Ordinal;

/// The pods of a set by their number. Handing them on costs nothing; who changes them while others look gets a copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pods(Arc<BTreeMap<Ordinal, Pod>>);

impl Deref for Pods {
    type Target = BTreeMap<Ordinal, Pod>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Pods {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(Ordinal, Pod)> for Pods {
    fn from_iter<T: IntoIterator<Item = (Ordinal, Pod)>>(pods: T) -> Self {
        Self(Arc::new(pods.into_iter().collect()))
    }
}

impl<'a> IntoIterator for &'a Pods {
    type Item = (&'a Ordinal, &'a Pod);
    type IntoIter = std::collections::btree_map::Iter<'a, Ordinal, Pod>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
