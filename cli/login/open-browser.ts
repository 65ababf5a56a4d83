// Opens a URL in this machine's browser.

import { spawn } from "node:child_process";

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Does nothing without a browser; callers also print the URL. */
export const openInBrowser = (address: string): void => {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  spawn(program, [...args, address], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
};
