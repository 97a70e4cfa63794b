export const Ask = () => <h1>Ask</h1>;
