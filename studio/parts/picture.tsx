import { useEffect, useState } from "preact/hooks";

/** A picture of the project as it is drawn: an image of its own, so that nothing in it can become a part of this page. */
export function Picture({ svg, alt }: { readonly svg: string; readonly alt: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return address === undefined ? null : <img class="picture" src={address} alt={alt} />;
}
