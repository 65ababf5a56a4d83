// Outbound connections and deliveries of events.

import type { Mutant } from "../mutant.ts";

const outbound = "server/authn/outbound.ts";
const egress = "server/authn/egress.ts";
const attempt = "server/events/delivery/attempt.ts";

export const delivery: readonly Mutant[] = [
  { attack: 19, file: egress, find: "return ipaddr.process(address);", replace: "return ipaddr.parse(address);" },
  { attack: 19, file: egress, find: '(address.kind() === "ipv4" || address.match(globalUnicast))', replace: "true" },
  { attack: 20, file: egress, find: 'return protocol === "https:" ? undefined :', replace: "return protocol !== undefined ? undefined :" },
  { attack: 20, file: outbound, find: "redirects < (request.redirectsMax ?? 0)", replace: "redirects < (request.redirectsMax ?? 3)" },
  {
    attack: 17,
    file: outbound,
    find: 'if (url.username !== "" || url.password !== "") throw new Error("the URL carries a user name or password");',
    replace: "",
  },
  {
    attack: 21,
    file: outbound,
    find: 'throw new Fault("UNAVAILABLE", unreachableText(address), { cause });',
    replace: 'throw new Fault("UNAVAILABLE", errorTextOf(cause), { cause });',
  },
  { attack: 23, file: attempt, find: 'delivered: statusClass === "2xx"', replace: 'delivered: statusClass !== "5xx"' },
  {
    attack: 26,
    file: attempt,
    find: "return rights !== undefined && !rights.closed && missingCapability(rights, neededCapabilities, parentOf(subscription)) === undefined;",
    replace: "return rights !== undefined;",
  },
  { attack: 28, file: "server/events/delivery/envelope.ts", find: "/[^\\x21\\x23\\x24\\x26-\\x7e]/gu", replace: "/[^\\x00-\\x7e]/gu" },
  { attack: 62, file: attempt, find: "tenant: { organization: rootOf(delivery.subscription) },", replace: 'tenant: "operator",' },
  {
    attack: 83,
    file: outbound,
    find: 'if (from.protocol === "https:" && to.protocol !== "https:") throw new Error(`${from.host} leads from https to http`);',
    replace: "",
  },
  { attack: 83, file: outbound, find: "isSameOrigin ? headers : Object.fromEntries", replace: "isSameOrigin || !isSameOrigin ? headers : Object.fromEntries" },
  { attack: 94, file: outbound, find: "isSameOrigin ? headers : Object.fromEntries", replace: "isSameOrigin || !isSameOrigin ? headers : Object.fromEntries" },
  { attack: 38, file: outbound, find: "fairnessKey = shareKey(request.tenant, url.host);", replace: 'fairnessKey = "";' },
  { attack: 149, file: egress, find: "(entry.port ?? port) === port &&", replace: "" },
  { attack: 193, file: outbound, find: "redirects < (request.redirectsMax ?? 0)", replace: "redirects < (request.redirectsMax ?? 3)" },
];
