/* plugin.h -- the CUDA plugin: whether there is one, and why not
 *
 * For the binding (doctor) and main. Everything else meets it as a driver (mem/gpu.h).
 *
 * INVARIANT  Loading fails with words and never ends the program.
 * MUST NOT   know Lua. */
#ifndef DL_PLUGIN_H
#define DL_PLUGIN_H

/* Make the plugin be looked for when a GPU is first asked for. */
void dl_plugin_init(void);
/* What became of it, in words: "cuda: 1 device, cuBLAS found", "no plugin: …". Looks if need be. */
const char *dl_plugin_state(void);
/* The file that was loaded or tried; "" when none was found. */
const char *dl_plugin_path(void);

#endif
