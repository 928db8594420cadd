//! Reading a FlatBuffer without trusting it: every offset, length and alignment is checked before it is followed, by the
//! rules of the format's own verifier. Positions count from the start of the buffer.

use crate::codec::trouble::Trouble;

const OFFSET_BYTES: usize = 4;
/// A vtable begins with its own size and the table's, 16 bits each.
const VTABLE_HEAD: usize = 4;

/// A whole buffer.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(&'a [u8]);

/// One table in it.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: Bytes<'a>,
    at: usize,
    size: usize,
    vtable: usize,
    vtable_size: usize,
}

/// The elements of a vector.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    pub(super) start: usize,
    pub(super) count: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    pub(super) fn root(self) -> Result<Table<'a>, Trouble> {
        self.table(self.follow(0)?)
    }

    /// A range on its alignment.
    pub(super) fn region(self, at: usize, size: usize, align: usize) -> Result<&'a [u8], Trouble> {
        if !at.is_multiple_of(align) {
            return Err(Trouble::new(format!(
                "the FlatBuffer is damaged: {at} is not a multiple of {align}"
            )));
        }
        let region = at.checked_add(size).and_then(|end| self.0.get(at..end));
        region.ok_or_else(|| {
            Trouble::new(format!(
                "the FlatBuffer is damaged: {size} bytes at {at} are beyond its {}",
                self.0.len()
            ))
        })
    }

    pub(super) fn scalar<const N: usize>(self, at: usize) -> Result<[u8; N], Trouble> {
        Ok(self.region(at, N, N)?.try_into().expect("it has that length"))
    }

    /// Where the offset that stands at `at` leads. An offset of 0 leads nowhere.
    pub(super) fn follow(self, at: usize) -> Result<usize, Trouble> {
        let offset = u32::from_le_bytes(self.scalar(at)?);
        let target = usize::try_from(offset)
            .ok()
            .filter(|offset| *offset > 0)
            .and_then(|offset| at.checked_add(offset));
        target
            .ok_or_else(|| Trouble::new(format!("the FlatBuffer is damaged: the offset at {at} is {offset}")))
    }

    pub(super) fn table(self, at: usize) -> Result<Table<'a>, Trouble> {
        let back = i64::from(i32::from_le_bytes(self.scalar(at)?));
        let vtable = i64::try_from(at).ok().and_then(|at| usize::try_from(at - back).ok());
        let vtable =
            vtable.ok_or_else(|| Trouble::new("the FlatBuffer is damaged: a vtable before its start"))?;
        let vtable_size = usize::from(u16::from_le_bytes(self.scalar(vtable)?));
        let size = usize::from(u16::from_le_bytes(self.scalar(vtable + 2)?));
        self.region(vtable, vtable_size, 2)?;
        self.region(at, size, OFFSET_BYTES)?;
        if vtable_size < VTABLE_HEAD || !vtable_size.is_multiple_of(2) || size < OFFSET_BYTES {
            return Err(Trouble::new(format!("the FlatBuffer is damaged: a vtable of {vtable_size} bytes")));
        }
        Ok(Table { bytes: self, at, size, vtable, vtable_size })
    }

    /// Its length, its bytes, and the NUL that the format asks for.
    pub(super) fn string(self, at: usize) -> Result<&'a str, Trouble> {
        let text = self.elements(at, 1, 1)?;
        let bytes = self.region(text.start, text.count, 1)?;
        if self.region(text.start + text.count, 1, 1)? != [0] {
            return Err(Trouble::new("the FlatBuffer is damaged: a string does not end in NUL"));
        }
        std::str::from_utf8(bytes).map_err(|error| Trouble::new(format!("a string is not UTF-8: {error}")))
    }

    /// A vector of elements of this size.
    pub(super) fn elements(self, at: usize, size: usize, align: usize) -> Result<Elements, Trouble> {
        let count = u32::from_le_bytes(self.scalar(at)?) as usize;
        let start = at + OFFSET_BYTES;
        let bytes = count.checked_mul(size);
        let bytes =
            bytes.ok_or_else(|| Trouble::new(format!("the FlatBuffer is damaged: {count} elements")))?;
        // The elements of an empty vector stand nowhere, so their alignment is not asked for.
        self.region(start, bytes, if count == 0 { 1 } else { align })?;
        Ok(Elements { start, count })
    }
}

impl<'a> Table<'a> {
    pub(super) fn bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// Where the field of this vtable slot stands; None when it is absent.
    pub(super) fn field(&self, slot: usize, size: usize) -> Result<Option<usize>, Trouble> {
        if slot + 2 > self.vtable_size {
            return Ok(None);
        }
        let offset = usize::from(u16::from_le_bytes(self.bytes.scalar(self.vtable + slot)?));
        if offset == 0 {
            return Ok(None);
        }
        if offset < OFFSET_BYTES || offset + size > self.size {
            return Err(Trouble::new(format!("the FlatBuffer is damaged: a field at {offset} of its table")));
        }
        Ok(Some(self.at + offset))
    }

    /// Where the offset in this slot leads.
    pub(super) fn follow(&self, slot: usize) -> Result<Option<usize>, Trouble> {
        self.field(slot, OFFSET_BYTES)?.map(|at| self.bytes.follow(at)).transpose()
    }
}
