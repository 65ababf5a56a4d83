// Deletes an identity, after it has shown the last use and the number of role bindings that it loses.

import type { ReactNode } from "react";
import type { Identity } from "../../../client/package.ts";
import { bindingsOf } from "../access/requests.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { relativeTime } from "../format.ts";
import { Name } from "../parts.tsx";
import { lastUseOf } from "../robots/describe.ts";
import { texts } from "../texts/identities.ts";
import { deleteIdentity } from "./requests.ts";

interface RemoveIdentityProps {
  readonly title: string;
  /** What the identity is. */
  readonly kind: string;
  readonly identity: Identity;
  /** Read out afterwards. */
  readonly done: string;
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

export const RemoveIdentity = ({ title, kind, identity, done, onClose, onDone }: RemoveIdentityProps): ReactNode => {
  const bindings = useAsk(bindingsOf(identity.uid)).data?.data;
  const lastUse = lastUseOf(identity);
  const use = lastUse === undefined ? texts.neverUsed : texts.usedLast(relativeTime(lastUse, Date.now()));
  return (
    <Confirm
      title={title}
      about={
        <>
          <Name>{identity.name}</Name> <span className="quiet">{kind}</span>
        </>
      }
      effect={`${use} ${bindings ? texts.removeText(Number(bindings.totalCount ?? bindings.roleBindings.length)) : texts.countingBindings}`}
      question={deleteIdentity(identity.uid)}
      done={done}
      deletes={identity}
      onClose={onClose}
      {...(onDone ? { onDone } : {})}
    />
  );
};
