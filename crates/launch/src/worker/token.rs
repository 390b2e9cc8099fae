//! The token of a job: a secret that mpiexec and its workers have in common.
//!
//! The token itself is never sent, and never passed on to a rank. Each side proves by HMAC-SHA256 (RFC 2104) that it
//! has the token, over numbers that both have chosen for this connection, so that a proof cannot be used again. Used
//! by `handshake`.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::process::Command;

/// The variable with the token, and the one with the name of a file that contains it.
pub const VARIABLE: &str = "HAWSER_TOKEN";
pub const FILE_VARIABLE: &str = "HAWSER_TOKEN_FILE";
/// The shortest token, in characters: 16 hexadecimal digits are 64 random bits. A program that pretends to be mpiexec
/// gets a proof from each worker that connects to it, with which it can try words.
const CHARACTERS_MIN: usize = 16;
/// The length of a proof, in bytes.
pub const PROOF_BYTES: usize = 32;

/// The first step towards a token, for messages.
const REMEDY: &str = "give mpiexec and all its workers the same secret, such as the output of `openssl rand -hex 16`";

#[derive(Clone)]
pub struct Token(Hmac<Sha256>);

impl Token {
    /// Returns the token that the environment names. The error is a line for the user.
    pub fn from_environment(environment: &dyn Fn(&str) -> Option<String>) -> Result<Token, String> {
        let given = |name| environment(name).filter(|value| !value.is_empty());
        let (text, source) = match (given(VARIABLE), given(FILE_VARIABLE)) {
            (Some(text), _) => (text, VARIABLE.to_owned()),
            (None, Some(file)) => {
                let error = |error| format!("the file of {FILE_VARIABLE}, {file}, cannot be read: {error}; {REMEDY}");
                (std::fs::read_to_string(&file).map_err(error)?, format!("the token in {file}"))
            }
            (None, None) => return Err(format!("workers need {VARIABLE} or {FILE_VARIABLE}: {REMEDY}")),
        };
        let text = text.trim();
        match text.chars().count() {
            ..CHARACTERS_MIN => {
                Err(format!("{source} has fewer than {CHARACTERS_MIN} characters, and can be guessed; {REMEDY}"))
            }
            _ => Ok(Token::new(text)),
        }
    }

    pub fn new(text: &str) -> Token {
        // A key of HMAC may have any length.
        Token(Hmac::new_from_slice(text.as_bytes()).expect("a key of any length"))
    }

    /// Returns the proof of `parts`, in this order.
    pub fn proof(&self, parts: &[&[u8]]) -> [u8; PROOF_BYTES] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// Whether `proof` is that of `parts`. The time that this takes does not depend on the proof.
    pub fn verifies(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.over(parts).verify_slice(proof).is_ok()
    }

    /// The lengths of the parts are a part of what is proved, so that no two lists of parts have the same proof.
    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut hmac = self.0.clone();
        for part in parts {
            hmac.update(&(part.len() as u64).to_le_bytes());
            hmac.update(part);
        }
        hmac
    }
}

/// Removes the token from the environment of a process that does not need it.
pub fn remove_from(command: &mut Command) {
    command.env_remove(VARIABLE).env_remove(FILE_VARIABLE);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(variables: &[(&str, &str)]) -> Result<Token, String> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Token::from_environment(&|name| value(name).map(str::to_owned))
    }

    #[test]
    fn a_proof_holds_for_its_token_and_its_parts() {
        let one = Token::new("0123456789abcdef");
        let proof = one.proof(&[b"ab", b"c"]);
        assert!(one.verifies(&[b"ab", b"c"], &proof));
        assert!(!one.verifies(&[b"a", b"bc"], &proof) && !one.verifies(&[b"ab", b"c"], &proof[..31]));
        assert!(!Token::new("0123456789abcdee").verifies(&[b"ab", b"c"], &proof));
        // RFC 4231, test case 2, for the algorithm itself.
        let mut known = Token::new("Jefe").0;
        known.update(b"what do ya want for nothing?");
        assert_eq!(known.finalize().into_bytes().as_slice()[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn the_token_comes_from_a_variable_or_a_file_and_is_long() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let (file, secret) = (file.to_str().unwrap(), "0123456789abcdef");
        let of_file = token(&[(FILE_VARIABLE, file)]).unwrap();
        assert!(token(&[(VARIABLE, secret)]).unwrap().verifies(&[], &of_file.proof(&[])));
        let refused = |variables: &[(&str, &str)]| token(variables).err().unwrap_or_default();
        assert!(refused(&[]).starts_with("workers need HAWSER_TOKEN"));
        assert!(refused(&[(VARIABLE, "short")]).starts_with("HAWSER_TOKEN has fewer than 16"));
        assert!(refused(&[(FILE_VARIABLE, "/nowhere")]).contains("/nowhere, cannot be read"));
        std::fs::write(file, "short").unwrap();
        assert!(refused(&[(FILE_VARIABLE, file)]).contains("has fewer than 16"));
    }
}
