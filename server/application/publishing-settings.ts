// Settings of the publisher of advisories, and of the security contact of this server.

import { readTimestamp } from "#base/time.ts";
import type { CsafOptions } from "#advisories/feeds";
import { settingTexts } from "./setting-names.ts";
import { type Given, readHttpUrl, settingFault, splitList } from "./setting-values.ts";

const publisherCategories = ["coordinator", "discoverer", "other", "user", "vendor"];

/** Reads the publisher; the default derives from the server's URL. */
export const readPublisher = (given: Given, publicUrl: string): CsafOptions["feed"]["publisher"] => {
  const category = given.GANTRY_PUBLISHER_CATEGORY ?? settingTexts.GANTRY_PUBLISHER_CATEGORY.byDefault;
  if (!publisherCategories.includes(category))
    throw settingFault("GANTRY_PUBLISHER_CATEGORY", `must be one of ${publisherCategories.join(", ")}, not ${JSON.stringify(category)}`);
  const { GANTRY_PUBLISHER_NAMESPACE: namespace } = given;
  return {
    category,
    name: given.GANTRY_PUBLISHER_NAME ?? new URL(publicUrl).host,
    namespace: namespace ? readHttpUrl("GANTRY_PUBLISHER_NAMESPACE", namespace) : new URL(publicUrl).origin,
    contact: given.GANTRY_PUBLISHER_CONTACT ?? "",
  };
};

/** RFC 9116 §2.5.3: mailto, tel, and https for pages. */
const contactForm = /^(?:mailto:[^\s@]+@[^\s@]+|tel:[+0-9().-]+|https:\/\/\S+)$/;

export const readSecurityContact = (given: Given): CsafOptions["security"] => {
  const contacts = splitList(given.GANTRY_SECURITY_CONTACT);
  const wrong = contacts.find((contact) => !contactForm.test(contact));
  if (wrong !== undefined)
    throw settingFault("GANTRY_SECURITY_CONTACT", `must contain addresses such as mailto:security@example.com or https://…, not ${JSON.stringify(wrong)}`);
  const expires = given.GANTRY_SECURITY_EXPIRES;
  const expiresMs = expires === undefined ? undefined : readTimestamp(expires);
  if (expires !== undefined && expiresMs === undefined)
    throw settingFault("GANTRY_SECURITY_EXPIRES", `must be a time such as 2027-06-30T00:00:00Z, not ${JSON.stringify(expires)}`);
  return { contacts, expiresMs };
};
