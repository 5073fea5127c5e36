// The whole of it: get the API, hand over the history, go on from the view.

const vscode = require("vscode");

/** The history of a chat extension: here, a long made-up session. */
function history() {
  const items = [message("user", "Make the ledger refuse negative amounts, and prove it with a test.")];
  for (let step = 1; step <= 60; step += 1) {
    const call_id = `call_${step}`;
    const command = step % 3 ? `sed -n ${step},${step + 40}p ledger/entry.py` : "pytest -q tests/test_entry.py";
    const output = step % 3 ? `line ${step}: amount = Decimal(text)\n`.repeat(40) : `Exit code: ${step < 55 ? 1 : 0}\n${step} passed\n`;
    items.push({ type: "function_call", call_id, name: "shell", arguments: JSON.stringify({ command: ["bash", "-lc", command] }) });
    items.push({ type: "function_call_output", call_id, output });
  }
  items.push(message("assistant", "Entry.parse() refuses negative amounts now; the tests pass."));
  return [...items, message("user", "Good. Now write the changelog entry.")];
}

function message(role, text) {
  return { type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] };
}

async function compactAndShow() {
  const longhaul = await vscode.extensions.getExtension("longhaul.longhaul").activate();
  const { view, tokens, receipt } = await longhaul.compact(history(), { max_tokens: 1000 });
  const document = await vscode.workspace.openTextDocument({ content: view, language: "markdown" });
  await vscode.window.showTextDocument(document);
  const dropped = receipt.totals.dropped.items;
  vscode.window.showInformationMessage(`Compacted ${tokens.before} to ${tokens.after} tokens; ${dropped} items can be expanded again.`);
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand("compactHistoryExample.run", compactAndShow));
};
