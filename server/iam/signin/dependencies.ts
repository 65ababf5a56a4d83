// Dependencies of the browser's sign-in: the settings, and what open.ts opens with them.

import type { Completers } from "./completion.ts";
import type { Providers } from "./provider.ts";
import type { SignInSettings } from "./settings.ts";

export interface SignInDependencies extends SignInSettings {
  readonly providers: Providers;
  readonly completers: Completers;
}
