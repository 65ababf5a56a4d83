// Capabilities by resource: "repo" with "list", "create".

import type { ReactNode } from "react";
import { Dotted } from "../parts.tsx";

/** Returns the verbs of each resource; a capability without a dot is a resource without verbs. */
const byResource = (capabilities: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const resources = new Map<string, string[]>();
  for (const name of capabilities) {
    const at = name.lastIndexOf(".");
    const resource = at < 0 ? name : name.slice(0, at);
    resources.set(resource, [...(resources.get(resource) ?? []), ...(at < 0 ? [] : [name.slice(at + 1)])]);
  }
  return new Map([...resources].sort(([one], [other]) => (one < other ? -1 : 1)));
};

export const CapabilityList = ({ capabilities }: { readonly capabilities: readonly string[] }): ReactNode => (
  <dl className="capabilities">
    {[...byResource(capabilities)].map(([resource, verbs]) => (
      <div key={resource}>
        <dt>
          <Dotted>{resource}</Dotted>
        </dt>
        <dd>
          {verbs.map((verb) => (
            <code key={verb}>{verb}</code>
          ))}
        </dd>
      </div>
    ))}
  </dl>
);
