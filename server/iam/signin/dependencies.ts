// What the steps of a browser's sign-in need: the settings, and what is opened with them at start (open.ts).

import type { Completers } from "./completion.ts";
import type { Providers } from "./provider.ts";
import type { SignInSettings } from "./settings.ts";

export interface SignInDependencies extends SignInSettings {
  readonly providers: Providers;
  readonly completers: Completers;
}
