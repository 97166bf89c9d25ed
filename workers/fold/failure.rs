//! Keeps the first error of a process.

use crate::error::Error;
use crate::locks::lock;
use std::sync::{Arc, Mutex};

/// The first error of this process, shared by its workers.
#[derive(Clone, Default)]
pub struct Failure(Arc<FirstError>);

#[derive(Default)]
struct FirstError {
    error: Mutex<Option<Error>>,
    notify: Option<Notify>,
}

type Notify = Box<dyn Fn(&Error) + Send + Sync>;

impl Failure {
    /// A failure that calls `notify` when it happens, so that other processes hear of it. Otherwise
    /// their workers would read all their inputs for nothing.
    pub fn notifying(notify: impl Fn(&Error) + Send + Sync + 'static) -> Failure {
        Failure(Arc::new(FirstError { error: Mutex::default(), notify: Some(Box::new(notify)) }))
    }

    /// Keeps `error` and passes it on, if it is the first.
    pub fn report(&self, error: Error) {
        let mut first = lock(&self.0.error);
        if first.is_none() {
            self.0.notify.iter().for_each(|notify| notify(&error));
            *first = Some(error);
        }
    }

    /// Whether something failed.
    pub fn is_set(&self) -> bool {
        lock(&self.0.error).is_some()
    }

    /// Takes the error out.
    pub fn take(&self) -> Option<Error> {
        lock(&self.0.error).take()
    }
}
