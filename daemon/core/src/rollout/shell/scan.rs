//! Splits a script into tokens. Everything that reads a script goes through here, so that quotes, escapes,
//! substitutions, comments and heredocs mean the same everywhere.

use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellToken {
    Text,
    Space,
    /// A backslash and the character after it.
    Escape,
    /// Text in single quotes, with the quotes.
    Single,
    /// The `"` at the beginning or end of text in double quotes.
    Double,
    /// The beginning of a substitution: `$(`, `<(`, `>(` or a backtick.
    Open,
    /// The end of a substitution.
    Close,
    /// A parenthesis that groups commands.
    Group,
    /// The operator of a redirection, without a stream's number.
    Redirect,
    /// From `#` to the end of the line.
    Comment,
    Joint(Joint),
    Heredoc,
    /// The line that ends a heredoc.
    Delimiter,
}

/// What joins a command to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// `&&`: the next one runs only if this one succeeded.
    And,
    /// `||`: the next one runs only if this one failed.
    Or,
    /// `|`: the next one reads its output and gives the exit code.
    Pipe,
    /// `;`: the next one runs regardless of this one's outcome.
    Semicolon,
    /// `&`: the next one does not wait for it.
    Background,
    Line,
}

impl Joint {
    pub fn text(self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Or => "||",
            Self::Pipe => "|",
            Self::Semicolon => ";",
            Self::Background => "&",
            Self::Line => "\n",
        }
    }
}

/// Bytes that end a run of plain text.
const ENDS_TEXT: [bool; 256] = {
    let (ends, mut table, mut at) = (b" \t\r\n\x0b\x0c'\"\\$`|;&<>()", [false; 256], 0);
    while at < ends.len() {
        table[ends[at] as usize] = true;
        at += 1;
    }
    table
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Double,
    /// `$(`, `<(` or `>(`.
    Parentheses,
    Backtick,
    Group,
    /// The body of a heredoc, in which only substitutions and escapes have a meaning.
    Body,
}

#[derive(Debug)]
struct PendingHeredoc<'a> {
    delimiter: String,
    /// Text behind the word that names the delimiter.
    behind: &'a str,
    /// The script has no further line.
    is_on_last_line: bool,
}

#[derive(Debug, Default)]
pub(super) struct Scanner<'a> {
    rest: &'a str,
    frames: Vec<Frame>,
    /// Open double quotes.
    quotes: usize,
    /// Open substitutions.
    substitutions: usize,
    is_in_word: bool,
    heredocs: VecDeque<PendingHeredoc<'a>>,
    /// The next text is the body of the first heredoc.
    is_body_next: bool,
    /// Bytes of the delimiter's line that follows.
    delimiter_bytes: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(script: &'a str) -> Self {
        Self { rest: script, ..Self::default() }
    }

    /// Reads the body of a heredoc.
    pub(super) fn of_body(body: &'a str) -> Self {
        Self { frames: vec![Frame::Body], ..Self::new(body) }
    }

    /// Number of double quotes that are open after the last token.
    pub(super) fn quotes(&self) -> usize {
        self.quotes
    }

    /// Number of substitutions that are open after the last token.
    pub(super) fn substitutions(&self) -> usize {
        self.substitutions
    }

    /// Text after the last token.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    fn enter(&mut self, frame: Frame) {
        match frame {
            Frame::Double => self.quotes += 1,
            Frame::Parentheses | Frame::Backtick => self.substitutions += 1,
            Frame::Group | Frame::Body => {}
        }
        self.frames.push(frame);
    }

    /// Leaves the innermost `frame` and all frames in it.
    fn leave(&mut self, frame: Frame) {
        while let Some(left) = self.frames.pop() {
            match left {
                Frame::Double => self.quotes -= 1,
                Frame::Parentheses | Frame::Backtick => self.substitutions -= 1,
                Frame::Group | Frame::Body => {}
            }
            if left == frame {
                break;
            }
        }
    }

    /// The next token outside double quotes and its length.
    fn plain(&mut self) -> (ShellToken, usize) {
        let rest = self.rest;
        let next = |at: usize| rest.as_bytes().get(at).copied();
        match rest.as_bytes()[0] {
            b'\'' => (ShellToken::Single, rest[1..].find('\'').map_or(rest.len(), |end| end + 2)),
            b'"' => {
                self.enter(Frame::Double);
                (ShellToken::Double, 1)
            }
            b'\\' => escape(rest),
            b'#' if !self.is_in_word => {
                (ShellToken::Comment, rest.find('\n').unwrap_or(rest.len()))
            }
            b'\n' => {
                self.is_body_next = !self.heredocs.is_empty();
                (ShellToken::Joint(Joint::Line), 1)
            }
            b'|' => match next(1) {
                Some(b'|') => (ShellToken::Joint(Joint::Or), 2),
                Some(b'&') => (ShellToken::Joint(Joint::Pipe), 2),
                _ => (ShellToken::Joint(Joint::Pipe), 1),
            },
            b';' => (ShellToken::Joint(Joint::Semicolon), 1),
            b'&' => match (next(1), next(2)) {
                (Some(b'&'), _) => (ShellToken::Joint(Joint::And), 2),
                (Some(b'>'), Some(b'>')) => (ShellToken::Redirect, 3),
                (Some(b'>'), _) => (ShellToken::Redirect, 2),
                _ => (ShellToken::Joint(Joint::Background), 1),
            },
            b'$' | b'<' | b'>' if next(1) == Some(b'(') => {
                self.enter(Frame::Parentheses);
                (ShellToken::Open, 2)
            }
            b'<' => self.input(),
            b'>' => {
                (ShellToken::Redirect, 1 + usize::from(matches!(next(1), Some(b'>' | b'&' | b'|'))))
            }
            b'(' => {
                self.enter(Frame::Group);
                (ShellToken::Group, 1)
            }
            b')' => (self.close(), 1),
            b'`' => self.backtick(),
            byte if is_blank(byte) => (ShellToken::Space, run(rest, is_blank)),
            _ => (ShellToken::Text, run(rest, |byte| !ENDS_TEXT[usize::from(byte)])),
        }
    }

    /// The next token in double quotes or in the body of a heredoc, and its length.
    fn quoted(&mut self, is_body: bool) -> (ShellToken, usize) {
        let rest = self.rest;
        match rest.as_bytes()[0] {
            b'\\' => escape(rest),
            b'"' if !is_body => {
                self.leave(Frame::Double);
                (ShellToken::Double, 1)
            }
            b'$' if rest[1..].starts_with('(') => {
                self.enter(Frame::Parentheses);
                (ShellToken::Open, 2)
            }
            b'`' => self.backtick(),
            _ => {
                let is_text =
                    |byte| !matches!(byte, b'\\' | b'$' | b'`' | b'"') || byte == b'"' && is_body;
                (ShellToken::Text, run(rest, is_text))
            }
        }
    }

    fn close(&mut self) -> ShellToken {
        match self.frames.last() {
            Some(Frame::Parentheses) => {
                self.leave(Frame::Parentheses);
                ShellToken::Close
            }
            Some(Frame::Group) => {
                self.leave(Frame::Group);
                ShellToken::Group
            }
            _ => ShellToken::Group,
        }
    }

    fn backtick(&mut self) -> (ShellToken, usize) {
        let behind = &self.rest[1..];
        if self.frames.contains(&Frame::Backtick) {
            self.leave(Frame::Backtick);
            (ShellToken::Close, 1)
        } else if behind.starts_with('\n') || behind.starts_with("\r\n") {
            // PowerShell continues a line with it.
            escape(self.rest)
        } else if behind.contains('`') {
            self.enter(Frame::Backtick);
            (ShellToken::Open, 1)
        } else {
            (ShellToken::Text, 1)
        }
    }

    /// A redirection of the input.
    fn input(&mut self) -> (ShellToken, usize) {
        let rest = self.rest;
        let bytes = match rest.as_bytes() {
            [b'<', b'<', b'<', ..] => return (ShellToken::Redirect, 3),
            [b'<', b'<', b'-', ..] => 3,
            [b'<', b'<', ..] => 2,
            [b'<', b'&', ..] => return (ShellToken::Redirect, 2),
            _ => return (ShellToken::Redirect, 1),
        };
        let word = rest[bytes..].trim_start_matches([' ', '\t']);
        let end = word.find(|c: char| c.is_whitespace() || ";|&<>()".contains(c));
        let (word, behind) = word.split_at(end.unwrap_or(word.len()));
        let delimiter = word.replace(['\'', '"', '\\'], "");
        if !delimiter.is_empty() {
            let is_on_last_line = !behind.contains('\n');
            self.heredocs.push_back(PendingHeredoc { delimiter, behind, is_on_last_line });
        }
        (ShellToken::Redirect, bytes)
    }

    /// The body of a heredoc that begins here, if there is one, and its length.
    fn heredoc(&mut self) -> Option<(ShellToken, usize)> {
        let rest = self.rest;
        if self.delimiter_bytes > 0 {
            return Some((ShellToken::Delimiter, std::mem::take(&mut self.delimiter_bytes)));
        }
        let first = self.heredocs.front()?;
        let (body, end) = if self.is_body_next {
            body_bytes(rest, &first.delimiter)
        } else if first.is_on_last_line && first.behind.len() == rest.len() {
            // A script whose lines were joined has the body on the same line.
            match word_at(rest, &first.delimiter) {
                Some(at) => (at, first.delimiter.len()),
                None => (0, 0),
            }
        } else {
            return None;
        };
        self.heredocs.pop_front();
        self.is_body_next &= !self.heredocs.is_empty();
        self.delimiter_bytes = end;
        match (body, end) {
            (0, 0) => None,
            (0, _) => self.heredoc(),
            _ => Some((ShellToken::Heredoc, body)),
        }
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = (ShellToken, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let has_heredoc = self.delimiter_bytes > 0 || !self.heredocs.is_empty();
        let heredoc = if has_heredoc { self.heredoc() } else { None };
        let (token, bytes) = match heredoc {
            Some(found) => found,
            None => match self.frames.last() {
                Some(Frame::Double) => self.quoted(false),
                Some(Frame::Body) => self.quoted(true),
                _ => self.plain(),
            },
        };
        let (text, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.is_in_word = match token {
            ShellToken::Text | ShellToken::Single | ShellToken::Double | ShellToken::Close => true,
            ShellToken::Escape => self.is_in_word || !text.ends_with('\n'),
            _ => false,
        };
        Some((token, text))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

/// An escaped character; the newline of Windows counts as one.
fn escape(rest: &str) -> (ShellToken, usize) {
    let bytes = match &rest[1..] {
        behind if behind.starts_with("\r\n") => 2,
        behind => behind.chars().next().map_or(0, char::len_utf8),
    };
    (ShellToken::Escape, 1 + bytes)
}

/// Length of the first byte and of the bytes after it for which `does` holds. It ends at a character, since `does`
/// is the same for all bytes that are not ASCII.
fn run(rest: &str, does: impl Fn(u8) -> bool) -> usize {
    let end = rest.bytes().skip(1).position(|byte| !does(byte));
    end.map_or(rest.len(), |end| end + 1)
}

/// Length of a heredoc's body and of its last line, which ends it.
fn body_bytes(text: &str, delimiter: &str) -> (usize, usize) {
    let mut body = 0;
    for line in text.split_inclusive('\n') {
        if line.trim() == delimiter {
            return (body, line.len());
        }
        body += line.len();
    }
    (body, 0)
}

/// Offset of a word in a text of one line.
fn word_at(text: &str, word: &str) -> Option<usize> {
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let behind = &text[at + word.len()..];
        text[..*at].ends_with(' ')
            && (behind.is_empty() || behind.starts_with([' ', ';', ')', '"', '&', '|']))
    })
}
