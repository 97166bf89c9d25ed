//! Reads files that only this user may read: the key of the links, and the token of a server.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use workers::error::{Error, Kind, Result};

/// A longer file holds no key and no token.
const BYTES_MAX: u64 = 4096;

/// Why a file with this `mode` and `owner` is not private to the user `me`; `None` if it is. No
/// other user may read or write it. If root owns it, its group may read it, because Kubernetes
/// mounts the secrets of a pod so if the pod does not run as root.
fn exposed(mode: u32, owner: u32, me: u32) -> Option<String> {
    let others = if owner == 0 && me != 0 { 0o037 } else { 0o077 };
    if owner != me && owner != 0 {
        return Some(format!("it belongs to user {owner}, who may read it; `chown {me}` it"));
    }
    let mode = mode & 0o7777;
    (mode & others != 0).then(|| format!("others may read it (mode {mode:04o}); `chmod 600` it"))
}

/// The content of the file at `path`. No message shows it.
///
/// # Errors
///
/// `of_exposed` if others can read the file, `Config` if it is not a file or holds no secret.
pub fn read(path: &Path, of_exposed: Kind) -> Result<Vec<u8>> {
    let failed = |e| Error::input("read", path, e);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::config(
            path,
            "a folder; the path of the file with the secret is wanted",
        ));
    }
    let me = rustix::process::geteuid().as_raw();
    if let Some(why) = exposed(metadata.mode(), metadata.uid(), me) {
        return Err(Error::new(of_exposed, format!("{}: {why}", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(Error::config(path, format!("more than {BYTES_MAX} bytes hold no secret"))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that another user may read or write is no secret. For a file of another user the
    /// message asked for another mode, which does not help.
    #[test]
    fn secrets_are_private() {
        let is_private = |mode, owner, me| exposed(mode, owner, me).is_none();
        assert!(is_private(0o100_440, 0, 1000) && is_private(0o100_400, 7, 7));
        assert!(!is_private(0o100_440, 0, 0) && !is_private(0o100_440, 1000, 1000));
        assert!(!is_private(0o100_444, 0, 1000) && !is_private(0o100_600, 7, 1000));
        assert!(exposed(0o100_600, 7, 1000).is_some_and(|why| why.contains("chown 1000")));
        assert!(exposed(0o100_644, 7, 7).is_some_and(|why| why.contains("chmod 600")));
    }

    /// For a folder the message asked for mode 600, with which nobody can enter it.
    #[test]
    fn a_folder_is_no_secret() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        for mode in [0o755, 0o700] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path(), mode).expect("set");
            let error = read(folder.path(), Kind::Permission).expect_err("a folder");
            let said = error.to_string();
            assert!(said.contains("a folder") && !said.contains("chmod"), "{said}");
            assert_eq!(error.kind(), Kind::Config);
        }
    }
}
