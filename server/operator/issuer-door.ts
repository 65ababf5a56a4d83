// The issuer's paths: what authn does for whoever brings a token, and what sign-ins add to it.

import { Fault } from "#base/fault.ts";
import { type JsonObject, texts } from "#base/json.ts";
import type { Entrance } from "#base/origin.ts";
import type { House } from "#kernel";
import { isRefusal } from "#outbox";
import { recordExchange, type SignIn, tokenPath } from "#signin";
import type { IssuerDoor } from "#transport";

/** A token for a token, with its line in the audit log. */
const exchange = async (house: House, form: URLSearchParams, authorization: string | undefined, entrance: Entrance): Promise<JsonObject> => {
  const { answer, exchanged } = await house.authn.exchangeForm(form, authorization);
  await recordExchange(house, exchanged, tokenPath, entrance);
  return answer;
};

export const issuerDoor = (house: House, { grants, beginDevice, paths }: SignIn): IssuerDoor => {
  const { authn, audit, publicUrl } = house;
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
    exchangeToken: async (form, authorization, entrance) => {
      const type = form.get("grant_type") ?? "";
      const grant = grants.get(type);
      if (!grant && type !== "" && !exchanges.includes(type)) {
        throw new Fault("INVALID_ARGUMENT", `grant_type must be one of ${grantTypes.join(", ")}`, { details: [{ kind: "reason", reason: "unsupported_grant_type" }] });
      }
      try {
        return await (grant ? grant(form, entrance) : exchange(house, form, authorization, entrance));
      } catch (thrown) {
        if (thrown instanceof Fault && isRefusal(thrown)) audit.refused({ caller: undefined, operation: tokenPath, subject: "", code: thrown.code, entrance });
        throw thrown;
      }
    },
    beginDevice,
    shown: paths,
  };
};
