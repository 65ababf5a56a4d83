// Warnings about settings that let tokens cross a network unencrypted, logged at the start and printed by `gantry doctor`. Only
// warnings, because a proxy may terminate TLS.

import { BlockList, isIP } from "node:net";
import type { Settings } from "./settings.ts";

export interface PlaintextWarning {
  readonly setting: "GANTRY_LISTEN" | "GANTRY_PUBLIC_URL";
  readonly says: string;
  readonly remedy: string;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const isLoopbackHost = (host: string): boolean => {
  const bare = (host.startsWith("[") ? host.slice(1, -1) : host).toLowerCase();
  const family = isIP(bare);
  if (family === 0) return bare === "localhost" || bare.endsWith(".localhost");
  return loopback.check(bare, family === 6 ? "ipv6" : "ipv4");
};

/** Returns a warning for a listener beyond loopback without TLS, and one for such a public URL with plain http. */
export const plaintextWarnings = ({ host, port, tls, publicUrl }: Pick<Settings, "host" | "port" | "tls" | "publicUrl">): readonly PlaintextWarning[] => {
  const { protocol, hostname } = new URL(publicUrl);
  const listener = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const warnings: PlaintextWarning[] = [];
  if (tls === undefined && !isLoopbackHost(host))
    warnings.push({
      setting: "GANTRY_LISTEN",
      says: `${listener} accepts connections from other machines without TLS`,
      remedy: "set GANTRY_TLS_CERT and GANTRY_TLS_KEY, or allow connections only from a proxy that terminates TLS",
    });
  if (protocol === "http:" && !isLoopbackHost(hostname))
    warnings.push({
      setting: "GANTRY_PUBLIC_URL",
      says: `${publicUrl} uses plain HTTP: tokens and sign-ins cross the network unencrypted`,
      remedy: "serve the address with TLS, and change it to https://",
    });
  return warnings;
};
