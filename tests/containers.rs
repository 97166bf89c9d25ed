//! Containers of archives that several tests build.

use lz4_flex::frame::{FrameEncoder, FrameInfo};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::Write;

/// One lz4 frame of these bytes.
pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        FrameEncoder::with_frame_info(FrameInfo::new().content_checksum(true), Vec::new());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// A zip archive that stores these files.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in files {
        let file = zip.new_file(*name).compression_method(CompressionMethod::STORE);
        let (mut entry, config) = file.start().expect("in memory");
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).expect("in memory");
        let (_, written) = writer.finish().expect("in memory");
        entry.finish(written).expect("in memory");
    }
    zip.finish().expect("in memory")
}
