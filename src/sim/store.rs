//! What the cluster holds: objects, one line of resource versions, and what changed lately.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::resource::Resource;

/// Changes that are kept for watches; older ones are compacted away.
const MOST_CHANGES: usize = 100_000;

/// Where an object lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace; empty where it lies in none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of an object of that kind.
    pub fn new(resource: Resource, namespace: &str, name: &str) -> Self {
        Self { resource, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The resource version that it brought.
    pub version: u64,
    /// Where.
    pub key: Key,
    /// The object before; none where it is new.
    pub before: Option<Arc<Value>>,
    /// The object now; where it is gone, as it was last, with the version of its end.
    pub object: Arc<Value>,
    /// Whether it is gone.
    pub gone: bool,
}

impl Change {
    /// An object as if it were new: what somebody is told who has lost the thread.
    pub(crate) fn of(key: &Key, object: &Arc<Value>, version: u64) -> Self {
        Self { version, key: key.clone(), before: None, object: object.clone(), gone: false }
    }
}

/// The objects and their latest changes.
#[derive(Debug, Clone, Default)]
pub struct Store {
    version: u64,
    began: u64,
    compacted: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    changes: VecDeque<Change>,
}

impl Store {
    /// An empty one that has reached a version.
    pub fn beginning(version: u64) -> Self {
        Self { version, began: version, ..Self::default() }
    }

    /// The version from which on a watch can be told what changed.
    pub fn watched_from(&self) -> u64 {
        self.began.max(self.compacted)
    }

    /// The newest resource version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version up to which changes are forgotten.
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    /// An object.
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// The objects of a kind, in one namespace or in all, by namespace and name.
    pub fn list<'a>(
        &'a self,
        resource: Resource,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + 'a {
        let start = Key::new(resource, namespace.unwrap_or_default(), "");
        self.objects.range(start..).take_while(move |(key, _)| {
            key.resource == resource && namespace.is_none_or(|namespace| namespace == key.namespace)
        })
    }

    /// Everything.
    pub fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// The objects of a kind as they were at a version; none where that is forgotten.
    pub fn list_at(&self, version: u64, resource: Resource, namespace: Option<&str>) -> Option<Vec<(Key, Arc<Value>)>> {
        if version < self.compacted {
            return None;
        }
        let mut objects: BTreeMap<Key, Arc<Value>> =
            self.list(resource, namespace).map(|(key, object)| (key.clone(), object.clone())).collect();
        // What happened since is taken back, the latest first.
        for change in self.changes.iter().rev().take_while(|change| change.version > version) {
            let key = &change.key;
            if key.resource != resource || namespace.is_some_and(|namespace| namespace != key.namespace) {
                continue;
            }
            match &change.before {
                Some(before) => objects.insert(key.clone(), before.clone()),
                None => objects.remove(key),
            };
        }
        Some(objects.into_iter().collect())
    }

    /// Writes an object, which takes the next resource version; the object as stored.
    ///
    /// Whether anything differs from before is for the caller to know.
    pub fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), object.clone());
        self.note(Change { version: self.version, key, before, object: object.clone(), gone: false });
        object
    }

    /// Takes an object away; as it was last, with the version of its end.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        self.version += 1;
        let mut object = Value::clone(&before);
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Arc::new(object);
        let change = Change {
            version: self.version,
            key: key.clone(),
            before: Some(before),
            object: object.clone(),
            gone: true,
        };
        self.note(change);
        Some(object)
    }

    /// The changes after a version, oldest first; none where some of them are forgotten.
    pub fn since(&self, version: u64) -> Option<impl Iterator<Item = &Change>> {
        if version < self.compacted {
            return None;
        }
        let first = self.changes.partition_point(|change| change.version <= version);
        Some(self.changes.range(first..))
    }

    /// The store as it was at an earlier version; none where that is forgotten.
    pub(crate) fn at(&self, version: u64) -> Option<Self> {
        if version < self.compacted {
            return None;
        }
        let mut past = self.clone();
        past.version = version.min(self.version);
        while past.changes.back().is_some_and(|change| change.version > version) {
            let Some(change) = past.changes.pop_back() else { break };
            match change.before {
                Some(before) => past.objects.insert(change.key, before),
                None => past.objects.remove(&change.key),
            };
        }
        Some(past)
    }

    /// Forgets the changes up to a version.
    pub fn compact(&mut self, version: u64) {
        let version = version.min(self.version);
        self.compacted = self.compacted.max(version);
        while self.changes.front().is_some_and(|change| change.version <= version) {
            self.changes.pop_front();
        }
    }

    fn note(&mut self, change: Change) {
        self.changes.push_back(change);
        if self.changes.len() > MOST_CHANGES
            && let Some(oldest) = self.changes.pop_front()
        {
            self.compacted = oldest.version;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Key, Store};
    use crate::sim::Resource;

    fn pod(name: &str) -> Key {
        Key::new(Resource::Pods, "shop", name)
    }

    #[test]
    fn every_write_takes_the_next_version_and_is_told() {
        let mut store = Store::default();
        store.put(pod("a"), json!({"metadata": {}}));
        store.put(Key::new(Resource::Pods, "zoo", "b"), json!({"metadata": {}}));
        let again = store.put(pod("a"), json!({"metadata": {}, "status": {}}));
        assert_eq!(again["metadata"]["resourceVersion"], "3");
        let gone = store.remove(&pod("a")).unwrap();
        assert_eq!(gone["metadata"]["resourceVersion"], "4");
        assert!(store.remove(&pod("a")).is_none());
        let told: Vec<_> = store.since(1).unwrap().map(|it| (it.version, it.before.is_some(), it.gone)).collect();
        assert_eq!(told, [(2, false, false), (3, true, false), (4, true, true)]);
        assert_eq!(store.list(Resource::Pods, None).count(), 1);
        assert_eq!(store.list(Resource::Pods, Some("shop")).count(), 0);
    }

    #[test]
    fn the_past_is_what_it_was() {
        let mut store = Store::default();
        store.put(pod("a"), json!({"metadata": {}, "is": 1}));
        store.put(pod("b"), json!({"metadata": {}}));
        store.put(pod("a"), json!({"metadata": {}, "is": 2}));
        store.remove(&pod("b"));
        let past = store.at(2).unwrap();
        assert_eq!((past.version(), past.list(Resource::Pods, None).count()), (2, 2));
        assert_eq!(past.get(&pod("a")).unwrap()["is"], 1);
        assert_eq!(past.since(1).unwrap().count(), 1);
        store.compact(3);
        assert!(store.at(2).is_none());
    }

    #[test]
    fn the_past_can_be_listed_as_far_as_it_is_remembered() {
        let mut store = Store::default();
        store.put(pod("a"), json!({"metadata": {}}));
        store.put(pod("b"), json!({"metadata": {}}));
        store.put(pod("a"), json!({"metadata": {}}));
        store.remove(&pod("b"));
        store.put(Key::new(Resource::Pods, "zoo", "c"), json!({"metadata": {}}));
        let at = |store: &Store, version| {
            let all = store.list_at(version, Resource::Pods, Some("shop"))?;
            Some(all.iter().map(|(key, it)| format!("{}{}", key.name, it["metadata"]["resourceVersion"])).collect())
        };
        let expected: [&[&str]; 6] =
            [&[], &["a\"1\""], &["a\"1\"", "b\"2\""], &["a\"3\"", "b\"2\""], &["a\"3\""], &["a\"3\""]];
        for (version, expected) in (0..).zip(expected) {
            assert_eq!(at(&store, version), Some(expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()));
        }
        store.compact(3);
        assert!(at(&store, 2).is_none() && at(&store, 3).is_some());
    }

    #[test]
    fn what_is_compacted_is_not_told_by_halves() {
        let mut store = Store::default();
        for _ in 0..5 {
            store.put(pod("a"), json!({"metadata": {}}));
        }
        store.compact(3);
        assert!(store.since(2).is_none());
        assert_eq!(store.since(3).unwrap().count(), 2);
    }
}
