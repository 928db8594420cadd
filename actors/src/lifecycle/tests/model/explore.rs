//! Breadth-first search over every state a model can reach: the first broken law is reported with its shortest
//! trace, and every state must keep a way to a goal that needs no luck and no fault.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is searched.
pub(super) trait Model {
    type State: Clone + Hash;
    type Action: Copy + Debug;

    fn initial(&self) -> Self::State;
    /// Everything that may happen next.
    fn actions(&self, state: &Self::State) -> Vec<Self::Action>;
    /// The state after `action`, or the law it breaks.
    fn apply(&self, state: &Self::State, action: Self::Action) -> Result<Self::State, String>;
    /// Whether the action comes by itself once faults and people leave the source alone.
    fn is_progress(&self, action: Self::Action) -> bool;
    fn is_goal(&self, state: &Self::State) -> bool;
}

/// What a complete search saw.
#[derive(Debug)]
pub(super) struct Explored {
    pub(super) states: usize,
    pub(super) transitions: usize,
    pub(super) depth: usize,
}

struct Search<'a, M: Model> {
    model: &'a M,
    seen: HashMap<u64, u32>,
    /// How each state was first reached: parent and index of the action there.
    reached: Vec<(u32, u16)>,
    /// Progress edges, backwards: (to, from).
    progress: Vec<(u32, u32)>,
    goals: Vec<u32>,
}

/// Searches all of `model`; `Err` is a broken law and the shortest trace to it.
pub(super) fn explore<M: Model>(model: &M, states_max: usize) -> Result<Explored, String> {
    let mut search =
        Search { model, seen: HashMap::new(), reached: Vec::new(), progress: Vec::new(), goals: Vec::new() };
    let initial = model.initial();
    search.admit(&initial, (0, 0));
    let mut frontier = vec![(0, initial)];
    let (mut transitions, mut depth) = (0, 0);
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for (at, state) in frontier {
            for (index, action) in model.actions(&state).into_iter().enumerate() {
                transitions += 1;
                let to = model.apply(&state, action).map_err(|law| search.trace(at, Some(action), &law))?;
                let (id, is_new) = search.admit(&to, (at, index as u16));
                if model.is_progress(action) {
                    search.progress.push((id, at));
                }
                if is_new {
                    next.push((id, to));
                }
            }
        }
        assert!(search.reached.len() < states_max, "more than {states_max} states: bound the model");
        frontier = next;
        depth += 1;
    }
    search.check_ways_to_goal()?;
    Ok(Explored { states: search.reached.len(), transitions, depth })
}

impl<M: Model> Search<'_, M> {
    fn admit(&mut self, state: &M::State, from: (u32, u16)) -> (u32, bool) {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let fresh = self.reached.len() as u32;
        let id = *self.seen.entry(hasher.finish()).or_insert(fresh);
        if id == fresh {
            self.reached.push(from);
            if self.model.is_goal(state) {
                self.goals.push(id);
            }
        }
        (id, id == fresh)
    }

    /// From every state some run of progress actions alone ends in a goal.
    fn check_ways_to_goal(&mut self) -> Result<(), String> {
        self.progress.sort_unstable();
        let mut has_way = vec![false; self.reached.len()];
        let mut todo = self.goals.clone();
        while let Some(id) = todo.pop() {
            if !std::mem::replace(&mut has_way[id as usize], true) {
                let first = self.progress.partition_point(|(to, _)| *to < id);
                let edges = self.progress[first..].iter().take_while(|(to, _)| *to == id);
                todo.extend(edges.map(|(_, from)| from).filter(|from| !has_way[**from as usize]));
            }
        }
        match has_way.iter().position(|has_way| !has_way) {
            Some(stuck) => Err(self.trace(stuck as u32, None, "no way to a goal from here")),
            None => Ok(()),
        }
    }

    fn trace(&self, mut at: u32, last: Option<M::Action>, law: &str) -> String {
        let mut indexes = Vec::new();
        while at != 0 {
            let (parent, index) = self.reached[at as usize];
            indexes.push(index);
            at = parent;
        }
        let mut state = self.model.initial();
        let mut trace = Vec::new();
        for index in indexes.into_iter().rev() {
            let action = self.model.actions(&state)[usize::from(index)];
            trace.push(format!("{action:?}"));
            state = self.model.apply(&state, action).expect("this action was taken before");
        }
        trace.extend(last.map(|action| format!("{action:?}")));
        format!("{law}\nafter {} steps:\n  {}", trace.len(), trace.join("\n  "))
    }
}
