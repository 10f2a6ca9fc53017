//! The embedded cluster, asked as a client asks it.

mod product;
mod serve;
mod sync;
