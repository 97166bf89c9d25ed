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
    tell: Option<Tell>,
}

type Tell = Box<dyn Fn(&Error) + Send + Sync>;

impl Failure {
    /// One that is told to `tell` when it happens. The workers of other processes work on until
    /// they are told: they would read all their inputs for nothing.
    pub fn telling(tell: impl Fn(&Error) + Send + Sync + 'static) -> Failure {
        Failure(Arc::new(FirstError { error: Mutex::default(), tell: Some(Box::new(tell)) }))
    }

    /// Keeps and tells `error` if it is the first.
    pub fn report(&self, error: Error) {
        let mut first = lock(&self.0.error);
        if first.is_none() {
            self.0.tell.iter().for_each(|tell| tell(&error));
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
