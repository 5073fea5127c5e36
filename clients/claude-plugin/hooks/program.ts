/** Whether to replace long tool results by excerpts: `longhaul install claude --excerpts`. */
export const excerpts: boolean = false;

// The command to run. `longhaul install claude` writes its own path and socket here; the marketplace's version uses the
// PATH.
export const program: readonly string[] = ["longhaul"];
