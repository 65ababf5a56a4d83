// Issuers that the operator trusts for email claims (GANTRY_MAIL_ISSUERS), in addition to a group's identity providers. Entries
// limit the domains, because an issuer can claim any address, even user-chosen ones (attack 63).
//
//   list   = entry *( "," entry )
//   entry  = issuer "=" ( "*" / domain *( "|" domain ) )     ; "*": every domain
//
// A domain does not include its subdomains. Pure.

import { Fault } from "#base/fault.ts";
import { normalIssuer } from "./people.ts";

/** Domains in lower case, by canonical issuer. */
export type MailIssuers = ReadonlyMap<string, ReadonlySet<string>>;

const everyDomain = "*";
const domainForm = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

const isIssuer = (issuer: string): boolean => {
  const url = URL.parse(issuer);
  return url !== null && ["https:", "http:"].includes(url.protocol) && !(url.search || url.hash || url.username || url.password);
};

const settingFault = (reason: string): Fault =>
  new Fault("FAILED_PRECONDITION", `GANTRY_MAIL_ISSUERS: ${reason}. Example: https://login.example.com=example.com|example.org`);

const readDomains = (entry: string, list: string): string[] => {
  if (list === everyDomain) return [everyDomain];
  const domains = list.split("|").map((domain) => domain.trim().toLowerCase());
  const unfit = domains.find((domain) => !domainForm.test(domain));
  if (unfit !== undefined) throw settingFault(`${JSON.stringify(unfit)} in ${JSON.stringify(entry)} is not a domain`);
  return domains;
};

/** Parses GANTRY_MAIL_ISSUERS. Throws a one-line Fault. */
export const readMailIssuers = (list: string): MailIssuers => {
  const found = new Map<string, Set<string>>();
  const entries = list.split(",").map((entry) => entry.trim());
  for (const entry of entries.filter((text) => text !== "")) {
    // The last one: an issuer's path may contain "=".
    const at = entry.lastIndexOf("=");
    if (at < 0) throw settingFault(`${JSON.stringify(entry)} names no domains ("=*" for every one)`);
    const issuer = normalIssuer(entry.slice(0, at).trim());
    if (!isIssuer(issuer)) throw settingFault(`${JSON.stringify(entry)} names no issuer, which is an http or https URL without user, query and fragment`);
    found.set(issuer, new Set([...(found.get(issuer) ?? []), ...readDomains(entry, entry.slice(at + 1).trim())]));
  }
  return found;
};

/** Returns whether the list trusts the issuer for this address. */
export const speaksForMail = (list: MailIssuers, issuer: string, email: string): boolean => {
  const domains = list.get(normalIssuer(issuer));
  const domain = /^[^@]+@([^@]+)$/.exec(email)?.[1];
  if (domains === undefined || domain === undefined) return false;
  // Folds ASCII only: other letters fold onto ASCII too (the Kelvin sign becomes k), but such a domain can have another owner.
  return domains.has(everyDomain) || domains.has(domain.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
};
