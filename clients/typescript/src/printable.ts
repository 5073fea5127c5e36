// Neutralizes untrusted text like the daemon does. Apply it to fields that the schema marks `raw` before showing them.

const COLOR = /\u001b\[[\d;:]*m/g;
const HIDDEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]" +
    // Joiners hide in ASCII; scripts and emoji need them.
    "|(?<=^|[\\u0000-\\u007f])[\\u200c\\u200d]|[\\u200c\\u200d](?=$|[\\u0000-\\u007f])|(?<=[\\ufe00-\\ufe0f])[\\ufe00-\\ufe0f]",
  "gu",
);

/** Keeps lines and tabs, removes colors, and shows hidden and control characters as `\u{1b}`. */
export function printable(text: string): string {
  const shown = (hidden: string) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`;
  return text.replace(COLOR, "").replace(/\r\n/g, "\n").replace(HIDDEN, shown);
}
