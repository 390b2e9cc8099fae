//! Encodes numbers, bytes and lists into a frame's body, and decodes them. Decoding never trusts a length: input that
//! does not parse gives `None`.

/// Appends values to a frame's body.
#[derive(Default)]
pub struct FieldWriter(pub Vec<u8>);

impl FieldWriter {
    pub fn u8(&mut self, value: u8) -> &mut FieldWriter {
        self.0.push(value);
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut FieldWriter {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u64(&mut self, value: u64) -> &mut FieldWriter {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut FieldWriter {
        self.u32(bytes.len() as u32);
        self.0.extend(bytes);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut FieldWriter {
        self.bytes(text.as_bytes())
    }

    pub fn list<T>(&mut self, items: &[T], mut put: impl FnMut(&mut FieldWriter, &T)) -> &mut FieldWriter {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| put(self, item));
        self
    }

    /// Ends a chain of calls in an expression that must have no value.
    pub fn done(&mut self) {}
}

/// Takes values from the front of a frame's body. Each call returns None if too few bytes are left.
pub struct FieldReader<'a>(pub &'a [u8]);

impl<'a> FieldReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = self.u32()? as usize;
        Some(self.take(len)?.to_vec())
    }

    pub fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    pub fn list<T>(&mut self, mut get: impl FnMut(&mut FieldReader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let len = self.u32()? as usize;
        // Every item takes at least one byte, so a list with more items than bytes is invalid.
        if len > self.0.len() {
            return None;
        }
        (0..len).map(|_| get(self)).collect()
    }
}
