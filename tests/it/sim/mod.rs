//! The embedded cluster, asked as a client asks it.

mod http;
mod product;
mod serve;
mod sync;
