//! Classifies a command line by its words.

use super::parts::{CommandPart, parts};
use super::scan::{Joint, Scanner, ShellToken};
use super::wrappers;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Class {
    Test,
    Build,
    /// Lints, checks types or format.
    #[strum(serialize = "check")]
    Lint,
    Install,
    #[strum(serialize = "run")]
    Start,
    Other,
}

/// Words of a command that determine its class.
const WORDS: &[(Class, &[&str])] = &[
    (
        Class::Test,
        &[
            "test",
            "tests",
            "pytest",
            "jest",
            "vitest",
            "nextest",
            "rspec",
            "phpunit",
            "ctest",
            "tox",
            "playwright",
            "unittest",
            "nox",
            "mocha",
            "ava",
            "cypress",
            "pest",
            "bats",
            "t",
        ],
    ),
    (
        Class::Lint,
        &[
            "lint",
            "clippy",
            "eslint",
            "ruff",
            "mypy",
            "tsc",
            "typecheck",
            "type-check",
            "check",
            "pyright",
            "vet",
            "golangci-lint",
            "shellcheck",
            "flake8",
            "pylint",
            "rubocop",
            "stylelint",
            "biome",
            "oxlint",
            "markdownlint",
            "markdownlint-cli2",
            "vale",
            "hadolint",
            "actionlint",
            "basedpyright",
            "phpstan",
            "psalm",
            "phpcs",
            "credo",
            "dialyzer",
            "ktlint",
            "detekt",
            "swiftlint",
            "tflint",
            "yamllint",
            "ansible-lint",
            "vue-tsc",
            "svelte-check",
        ],
    ),
    (
        Class::Build,
        &[
            "build",
            "--build",
            "compile",
            "make",
            "package",
            "assemble",
            "bundle",
            "ninja",
            "webpack",
            "rollup",
            "esbuild",
            "xcodebuild",
        ],
    ),
    (Class::Install, &["install", "add", "sync", "ci", "restore", "i"]),
    (Class::Start, &["run", "start", "serve", "dev", "up"]),
];

/// Words that only say of these programs that they check.
const CHECKS_OF: &[(&[&str], &str)] = &[
    (&["dart", "flutter"], "analyze"),
    (&["terraform", "tofu"], "validate"),
    (&["mvn", "mvnw", "npm", "pnpm", "yarn", "bun", "make", "just"], "verify"),
];

/// Programs that only build if they are run themselves: packages have their names.
const COMPILERS: &[&str] = &["javac", "gcc", "g++", "clang", "clang++", "rustc"];

/// Package managers, and the words after them that change what is installed: a package may have the name of a test
/// runner.
const PACKAGE_MANAGERS: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "cargo", "uv", "pip", "pip3", "poetry", "gem", "dotnet",
    "flutter",
];
const CHANGES_OF_PACKAGES: &[&str] = &["add", "i", "remove", "uninstall"];

/// Words of a command that formats, and options with which it only says what it would do.
const FORMATTERS: &[&str] = &[
    "fmt",
    "format",
    "prettier",
    "black",
    "isort",
    "rustfmt",
    "shfmt",
    "swiftformat",
    "php-cs-fixer",
    "pint",
];
const REHEARSALS: &[&str] = &[
    "--check",
    "-check",
    "--check-only",
    "--list-different",
    "--diff",
    "--dry-run",
    "--lint",
    "--test",
    "--set-exit-if-changed",
];
/// Short options mean something else elsewhere: `black -l 100` formats.
const SHORT_REHEARSALS: &[(&str, &[&str])] =
    &[("prettier", &["-l", "-c"]), ("isort", &["-c"]), ("shfmt", &["-d"])];

/// Programs whose arguments may be named like a tool and are not run.
const OTHERS: &[&str] = &[
    "git", "gh", "echo", "printf", "cd", "ls", "tree", "find", "fd", "which", "whereis", "type",
    "command", "cat", "head", "tail", "less", "wc", "file", "stat", "grep", "rg", "sed", "awk",
    "jq", "diff", "sort", "rm", "cp", "mv", "mkdir", "touch", "chmod", "ln", "ps", "pgrep",
    "pkill", "kill", "export", "curl", "wget",
];

impl Class {
    /// Classifies a line; of several commands, the most significant one decides.
    pub fn of(line: &str) -> Self {
        Self::of_parts(&parts(line)).into_iter().min().unwrap_or(Self::Other)
    }

    /// Classifies the commands of a line. A command after `||` runs only if others fail, so it says nothing. A
    /// shell reads `a || b && c` as `(a || b) && c`: `c` runs if either succeeds.
    pub(crate) fn of_parts(parts: &[CommandPart<'_>]) -> Vec<Self> {
        let mut is_fallback = false;
        // Groups that are open in the fallback: they belong to it as a whole.
        let mut groups = 0_usize;
        let class = |part: &CommandPart<'_>| {
            if groups == 0 {
                is_fallback = match part.before {
                    Some(Joint::Or) => true,
                    Some(Joint::Pipe) => is_fallback,
                    _ => false,
                };
            }
            if is_fallback {
                groups = groups_after(part.text, groups);
            }
            if is_fallback { Self::Other } else { Self::of_one(part.text) }
        };
        parts.iter().map(class).collect()
    }

    fn of_one(main: &str) -> Self {
        // `command -v x` runs nothing.
        let asks = main.trim_start().starts_with("command ");
        let main = if asks { main } else { wrappers::stripped(main) };
        // The shell's own `test -f x` tests no program.
        if main.trim_start().starts_with("test ") || main.trim_start().starts_with("[ ") {
            return Self::Other;
        }
        if main.contains("git diff") && main.contains("--check") {
            return Self::Lint;
        }
        // Most commands are none of these tools: do not split them.
        let words = main.split([' ', ':']).filter(|word| !word.is_empty()).take(6);
        let mut words = words.map(|word| word.rfind('/').map_or(word, |end| &word[end + 1..]));
        let first = words.next().filter(|first| !OTHERS.contains(first));
        let Some(first) = first else { return Self::Other };
        // Asking a tool for its version runs nothing.
        let mut given = main.split_whitespace();
        if given.any(|word| matches!(word, "--version" | "--help" | "-V")) {
            return Self::Other;
        }
        let is_gradle = matches!(first, "gradle" | "gradlew");
        // `testDebugUnitTest` of Gradle tests, `assembleRelease` builds.
        let mut words: Vec<&str> = std::iter::once(first).chain(words).collect();
        for word in words.iter_mut().filter(|_| is_gradle) {
            *word = word.split(|c: char| c.is_ascii_uppercase()).next().unwrap_or(word);
        }
        let changes_packages = PACKAGE_MANAGERS.contains(&first)
            && words.get(1).is_some_and(|word| CHANGES_OF_PACKAGES.contains(word));
        if changes_packages || words.contains(&"install") {
            return Self::Install;
        }
        let is_check_of =
            |(programs, word): &(&[&str], &str)| programs.contains(&first) && words.contains(word);
        if CHECKS_OF.iter().any(is_check_of) {
            return Self::Lint;
        }
        if COMPILERS.contains(&first) {
            return Self::Build;
        }
        let named = |names: &[&str]| words.iter().any(|word| names.contains(word));
        let class = WORDS.iter().find(|(_, names)| named(names)).map(|(class, _)| *class);
        let is_rehearsed = || {
            let short = SHORT_REHEARSALS.iter().filter(|(program, _)| words.contains(program));
            let short: Vec<&str> = short.flat_map(|(_, options)| *options).copied().collect();
            main.split_whitespace().any(|word| REHEARSALS.contains(&word) || short.contains(&word))
        };
        class.unwrap_or_else(|| match named(FORMATTERS) && is_rehearsed() {
            true => Self::Lint,
            false => Self::Other,
        })
    }

    /// Whether its exit status says whether the work is correct.
    pub fn is_check(self) -> bool {
        matches!(self, Self::Test | Self::Build | Self::Lint)
    }
}

/// Number of groups, `( … )` and `{ …; }`, that are open after a command.
fn groups_after(command: &str, before: usize) -> usize {
    let (mut open, mut starts_command) = (before, true);
    let mut scanner = Scanner::new(command);
    while let Some((token, text)) = scanner.next() {
        let is_plain = scanner.quotes() + scanner.substitutions() == 0;
        match (token, text) {
            (ShellToken::Group, "(") if is_plain => open += 1,
            (ShellToken::Group, _) if is_plain => open = open.saturating_sub(1),
            (ShellToken::Text, "{") if starts_command => open += 1,
            (ShellToken::Text, "}") if starts_command => open = open.saturating_sub(1),
            _ => {}
        }
        starts_command &= matches!(token, ShellToken::Space | ShellToken::Group)
            || text == "{" && token == ShellToken::Text;
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_classed_by_their_words() {
        for (line, class) in [
            ("npm run test:unit", Class::Test),
            ("cd web && pnpm lint", Class::Lint),
            ("cargo clippy --all", Class::Lint),
            ("cargo fmt", Class::Other),
            ("cargo fmt --all -- --check", Class::Lint),
            ("npx prettier --write src", Class::Other),
            ("npx prettier -c src", Class::Lint),
            ("npm run format:check", Class::Lint),
            ("dart format --set-exit-if-changed lib", Class::Lint),
            ("flutter analyze", Class::Lint),
            ("python -m unittest discover", Class::Test),
            ("./gradlew :app:testDebugUnitTest", Class::Test),
            ("./gradlew assembleRelease", Class::Build),
            ("cmake --build out", Class::Build),
            ("mvn -q verify", Class::Lint),
            ("black -l 100 src", Class::Other),
            ("black --check src", Class::Lint),
            ("gcc a.c -o a", Class::Build),
            ("dpkg -l gcc", Class::Other),
            ("pnpm --filter e2e build", Class::Build),
            ("make -j4", Class::Build),
            ("uv sync", Class::Install),
            ("uv add --dev pytest", Class::Install),
            ("npm uninstall mocha", Class::Install),
            ("./app analyze report.csv", Class::Other),
            ("python3 -m pip install --user pytest httpx", Class::Install),
            ("python3 -m pytest --version", Class::Other),
            ("make install", Class::Install),
            ("git diff --check", Class::Lint),
            ("git diff HEAD", Class::Other),
            ("./node_modules/.bin/eslint src", Class::Lint),
            ("/usr/bin/git commit -m test", Class::Other),
            ("ls .styles || cat list | xargs vale sync", Class::Other),
            ("test -f Cargo.toml", Class::Other),
            ("git commit -m 'test'", Class::Other),
            ("rg 'a && make test' src", Class::Other),
            ("pytest -k 'a; b' | tail", Class::Test),
            ("ps aux | grep test", Class::Other),
            ("which pytest", Class::Other),
            ("command -v make", Class::Other),
            ("head -n 20 /opt/homebrew/bin/pytest", Class::Other),
            ("mkdir -p web/tests && find . -name check", Class::Other),
            ("time npm test", Class::Test),
            ("timeout 60 npm run build", Class::Build),
            ("rtk cargo test", Class::Test),
            ("rtk git log test", Class::Other),
            ("sudo rm -rf test", Class::Other),
            ("ls .styles && echo there || vale sync", Class::Other),
            ("make || true; npm test", Class::Test),
            ("test -d web || mkdir web && npm test", Class::Test),
            ("ls a || ls b && cat c | xargs make", Class::Build),
            ("(ls a || ls b) && npm test", Class::Test),
            ("ls a || (cd b && npm test)", Class::Other),
            ("ls a || { cd b; npm test; }", Class::Other),
            ("ls a || (cd b && x=$(ls)) && npm test", Class::Test),
            ("ls a || { cd b && (ls; npm test); make; } && cargo clippy", Class::Lint),
            ("cat <<EOF > a\nmake test\nEOF", Class::Other),
        ] {
            assert_eq!(Class::of(line), class, "{line}");
        }
    }
}
