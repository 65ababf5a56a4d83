// The issuer's paths: what authn does for whoever brings a token, and what sign-ins add to it.

import type { Authn } from "#authn";
import { Fault } from "#base/fault.ts";
import { texts } from "#base/json.ts";
import type { SignIn } from "#signin";
import type { IssuerDoor } from "#transport";

export const issuerDoor = (authn: Authn, { grants, beginDevice, paths }: SignIn, publicUrl: string): IssuerDoor => {
  const known = authn.discovery();
  const exchanges = texts(known, "grant_types_supported");
  const grantTypes = [...exchanges, ...grants.keys()];
  return {
    discovery: () => ({
      ...known,
      device_authorization_endpoint: `${publicUrl.replace(/\/+$/, "")}/oauth/device_authorization`,
      grant_types_supported: grantTypes,
    }),
    keys: authn.keys,
    exchangeToken: async (form, authorization) => {
      const type = form.get("grant_type") ?? "";
      const grant = grants.get(type);
      if (grant) return grant(form);
      if (type !== "" && !exchanges.includes(type)) {
        throw new Fault("INVALID_ARGUMENT", `grant_type must be one of ${grantTypes.join(", ")}`, { details: [{ kind: "reason", reason: "unsupported_grant_type" }] });
      }
      return authn.exchangeForm(form, authorization);
    },
    beginDevice,
    shown: paths,
  };
};
