//! The tables of the store.

pub mod pages;
