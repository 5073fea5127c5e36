/** Whether long results of tools enter the history as excerpts: `longhaul install claude --excerpts`. */
export const excerpts: boolean = false;

// The command line that answers for the daemon. `longhaul install claude` writes its own path here, and the socket it
// was given; from a marketplace it is found on the PATH.
export const program: readonly string[] = ["longhaul"];
