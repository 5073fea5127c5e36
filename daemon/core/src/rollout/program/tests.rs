use super::*;
use crate::rollout::shell::commands;

/// Per file: its path, `whole`, `partial` or nothing, the removed and the added lines.
fn written(script: &str) -> Vec<(String, &'static str, String, String)> {
    let commands = commands(script);
    let writes = commands.iter().flat_map(|it| writes(&it.words, &it.input)).map(|write| {
        let is_whole = matches!(write.op.op, Op::Created { .. });
        let how = match (is_whole, write.is_partial) {
            (true, _) => "whole",
            (_, true) => "partial",
            _ => "",
        };
        (write.op.path, how, write.op.removed, write.op.added)
    });
    writes.collect()
}

fn python(program: &str) -> String {
    format!("python3 - <<'PY'\n{program}\nPY")
}

#[track_caller]
fn check(script: &str, expected: &[(&str, &str, &str, &str)]) {
    let found = written(script);
    let found: Vec<_> =
        found.iter().map(|(path, how, old, new)| (&**path, *how, &**old, &**new)).collect();
    assert_eq!(found, expected, "{script}");
}

#[test]
fn replaced_texts_are_edits() {
    let lines = "p='src/a.go'\ns=open(p,encoding='utf8').read()\n";
    check(
        &python(&format!(
            "{lines}s=s.replace('old line','new line')\nopen(p,'w',encoding='utf8').write(s)"
        )),
        &[("src/a.go", "", "old line\n", "new line\n")],
    );
    check(
        &python(&format!(
            "{lines}anchor = 'a\\n)\\n'\nassert anchor in s\nadd = anchor + '''const x = 2\nconst y = 3\n'''\n\
             s = s.replace(anchor, add, 1)\nopen(p, 'w').write(s)"
        )),
        &[("src/a.go", "", "", "const x = 2\nconst y = 3\n")],
    );
    check(
        "cd web && python -c \"\np='b.mjs'\ns=open(p).read()\ns=s.replace(\\\"x: 1,\\\",\\\"x: [1],\\\")\nopen(p,'w').write(s)\n\" && ls",
        &[("b.mjs", "", "x: 1,\n", "x: [1],\n")],
    );
    check(
        &python(
            "key = title.replace('old key', 'new key')\ntext = open('a.md').read()\n\
             open('a.md', 'w').write(text.replace('Both stay.', 'One stays.'))\n\
             other = open('b.md').read()\nopen('b.md', 'w').write(other + key)",
        ),
        &[("a.md", "", "Both stay.\n", "One stays.\n"), ("b.md", "partial", "", "")],
    );
    check(
        "node -e \"const fs=require('fs');let s=fs.readFileSync('a.json','utf8');s=s.replace(/v1/g,'version two');fs.writeFileSync('a.json',s)\"",
        &[("a.json", "partial", "", "version two\n\n")],
    );
}

#[test]
fn a_text_that_is_written_whole_is_the_file() {
    check(
        &python(
            "from pathlib import Path\ncontent = \"\"\"# Brief\nOne.\n\"\"\"\nfolder = Path('/w') / 'docs'\n\
             (folder / 'brief.md').write_text(content, encoding='utf-8')\nprint('done')",
        ),
        &[("/w/docs/brief.md", "whole", "", "# Brief\nOne.\n")],
    );
    check(
        &python("with open('log.md', 'a') as f:\n    f.write('- One more.\\n')"),
        &[("log.md", "", "", "- One more.\n")],
    );
    check(
        "node - <<'JS'\nconst path = require('path');\nfs.writeFileSync(path.join('out', 'a.txt'), 'one');\nJS",
        &[("out/a.txt", "whole", "", "one")],
    );
}

#[test]
fn of_a_text_that_is_read_and_changed_what_is_put_in_is_known() {
    let program = "p = Path('/w/session-09:10.md')\ntext = p.read_text()\nout = []\n\
        for line in text.splitlines():\n    if line.startswith('steps:'):\n        out.append('steps: [1, 2]')\n    else:\n        out.append(line)\n\
        append = \"\"\"\n## Choice\n\n- One\n\"\"\"\np.write_text(\"\\n\".join(out) + append)\n";
    check(
        &python(program),
        &[("/w/session-09:10.md", "partial", "", "steps: [1, 2]\n\n\n## Choice\n\n- One\n\n")],
    );
}

#[test]
fn what_is_computed_or_printed_is_left_out() {
    for program in [
        "for p in ['a.md', 'b.md']:\n    open(p, 'w').write('x')",
        "p = sys.argv[1]\nopen(p, 'w').write('x')",
        "open(f'{name}.md', 'w').write('x')",
        "import sys\nsys.stdout.write('a.md')",
        "print(open('a.md').read())",
        "x = 'open\nopen('a.md', 'w').write(x)",
        "open('https://a.org/b', 'w').write('x')",
    ] {
        check(&python(program), &[]);
    }
    check("python3 tool.py <<'E'\nopen('a.md', 'w').write('x')\nE", &[("a.md", "whole", "", "x")]);
    check("cat <<'E'\nopen('a.md', 'w').write('x')\nE", &[]);
}
