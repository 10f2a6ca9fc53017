//! Each fault, at the door of a world.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::sim::{Answer, AtWrite, Fault, Faults, Key, Loss, Rates, Request, Resource, Settings, Stale, World};

const ALL: u32 = 1000;

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn world(faults: Faults) -> World {
    World::new(&Settings { start: start(), faults, ..Settings::default() })
}

fn create(name: &str, user: &str) -> Request {
    Request {
        method: "POST".into(),
        path: "/api/v1/namespaces/default/configmaps".into(),
        body: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string().into_bytes(),
        content_type: "application/json".into(),
        user: user.into(),
        ..Request::default()
    }
}

fn list(version: Option<&str>, watch: bool) -> Request {
    let mut query: Vec<(String, String)> = Vec::new();
    query.extend(version.map(|version| ("resourceVersion".into(), version.into())));
    query.extend(watch.then(|| ("watch".into(), "true".into())));
    Request { method: "GET".into(), path: "/api/v1/configmaps".into(), query, user: "ann".into(), ..Request::default() }
}

fn code(answer: &Answer) -> u16 {
    match answer {
        Answer::Whole(response) => response.code,
        Answer::Late(_, late) => code(late),
        Answer::Watch(_) => 200,
        Answer::Lost(Loss::Reset) => 0,
        Answer::Lost(Loss::Crash) => 1,
    }
}

fn there(world: &World, name: &str) -> bool {
    world.object(&Key::new(Resource::ConfigMaps, "default", name)).is_some()
}

#[test]
fn each_fault_is_answered_as_a_server_would_and_done_or_not() {
    for (fault, answered, done) in [
        (Fault::Conflict, 409, false),
        (Fault::Gone, 410, false),
        (Fault::TooMany(3), 429, false),
        (Fault::Internal, 500, false),
        (Fault::Unavailable, 503, false),
        (Fault::TimeoutAfterCommit, 504, true),
        (Fault::ResetBefore, 0, false),
        (Fault::ResetAfter, 0, true),
        (Fault::Crash, 1, true),
        (Fault::Slow(SignedDuration::from_secs(3)), 201, true),
    ] {
        let writes = vec![AtWrite { user: "ann".into(), number: 2, fault }];
        let mut world = world(Faults { writes, ..Faults::default() });
        assert_eq!(code(&world.handle(start(), &create("first", "ann"))), 201);
        assert_eq!(code(&world.handle(start(), &create("other", "bob"))), 201);
        let answer = world.handle(start(), &create("second", "ann"));
        assert_eq!((code(&answer), there(&world, "second")), (answered, done), "{fault:?}");
        if let Answer::Whole(response) = answer
            && fault == Fault::TooMany(3)
        {
            assert_eq!(response.body["details"]["retryAfterSeconds"], 3);
        }
        assert_eq!(code(&world.handle(start(), &create("third", "ann"))), 201);
        assert_eq!((world.writes("ann"), world.hits()), (3, 1));
    }
}

#[test]
fn chance_hits_whom_it_is_told_to_and_as_often() {
    let rates = Rates { internal: 250, ..Rates::default() };
    let until = Some(start() + SignedDuration::from_secs(10));
    let mut world = world(Faults { users: vec!["ann".into()], rates, until, ..Faults::default() });
    let mut failed = 0;
    for number in 0..1000 {
        failed += u32::from(code(&world.handle(start(), &create(&format!("a{number}"), "ann"))) == 500);
        assert_eq!(code(&world.handle(start(), &create(&format!("b{number}"), "bob"))), 201);
    }
    assert!((200..300).contains(&failed), "{failed} of 1000");
    let later = start() + SignedDuration::from_secs(10);
    assert!((0..100).all(|number| code(&world.handle(later, &create(&format!("c{number}"), "ann"))) == 201));
}

fn lines(world: &mut World, watch: &mut crate::sim::Watch, at: Timestamp) -> (Vec<String>, bool, Option<Timestamp>) {
    let poll = world.poll(at, watch);
    let name = |line: &Value| match line["type"].as_str() {
        Some("ERROR") => line["object"]["code"].to_string(),
        _ => line["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
    };
    (poll.lines.iter().map(name).collect(), poll.ended, poll.again)
}

#[test]
fn watches_break_in_four_ways() {
    for (rates, expected, ended) in [
        (Rates { watch_ends: ALL, ..Rates::default() }, vec![], true),
        (Rates { watch_doubles: ALL, ..Rates::default() }, vec!["a", "a"], false),
        (Rates { watch_gone: ALL, ..Rates::default() }, vec!["410"], true),
        (Rates::default(), vec!["a"], false),
    ] {
        let mut world = world(Faults { rates, users: vec!["ann".into()], ..Faults::default() });
        let version = world.version().to_string();
        let Answer::Watch(mut watch) = world.handle(start(), &list(Some(&version), true)) else { panic!("no watch") };
        world.handle(start(), &create("a", "bob"));
        let (told, over, _) = lines(&mut world, &mut watch, start());
        assert_eq!((told, over), (expected.into_iter().map(str::to_owned).collect(), ended), "{rates:?}");
    }
    let rates = Rates { watch_delays: ALL, ..Rates::default() };
    let mut world = world(Faults { rates, users: vec!["ann".into()], ..Faults::default() });
    let version = world.version().to_string();
    let Answer::Watch(mut watch) = world.handle(start(), &list(Some(&version), true)) else { panic!("no watch") };
    world.handle(start(), &create("a", "bob"));
    let (told, _, again) = lines(&mut world, &mut watch, start());
    assert!(told.is_empty());
    let again = again.expect("it says when to come again");
    let (told, ..) = lines(&mut world, &mut watch, again);
    assert_eq!(told, ["a"]);
}

#[test]
fn a_view_that_lags_shows_the_past_until_it_catches_up() {
    let until = start() + SignedDuration::from_secs(60);
    let stale = vec![Stale { user: "ann".into(), versions: 2, until }];
    let mut world = world(Faults { stale, ..Faults::default() });
    for name in ["a", "b", "c"] {
        world.handle(start(), &create(name, "bob"));
    }
    let seen = |world: &mut World, at, version| match world.handle(at, &list(version, false)) {
        Answer::Whole(response) => response.body["items"].as_array().map_or(0, Vec::len),
        _ => panic!("no list"),
    };
    assert_eq!(seen(&mut world, start(), Some("0")), 1);
    assert_eq!(seen(&mut world, start(), None), 3, "a list that asks for no version is always the newest");
    assert_eq!(seen(&mut world, until, Some("0")), 3);
    let version = (world.version() - 3).to_string();
    let mut world =
        self::world(Faults { stale: vec![Stale { user: "ann".into(), versions: 2, until }], ..Faults::default() });
    for name in ["a", "b", "c"] {
        world.handle(start(), &create(name, "bob"));
    }
    let Answer::Watch(mut watch) = world.handle(start(), &list(Some(&version), true)) else { panic!("no watch") };
    let (told, _, again) = lines(&mut world, &mut watch, start());
    assert_eq!((told, again), (vec!["a".to_owned()], Some(until)));
    let (told, ..) = lines(&mut world, &mut watch, until);
    assert_eq!(told, ["b", "c"]);
}
