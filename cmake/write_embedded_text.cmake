# Writes OUTPUT: the text of INPUT as `const char* const` SYMBOL in namespace NAMESPACE.
file(READ ${INPUT} body)
file(WRITE ${OUTPUT} "namespace ${NAMESPACE} {\nextern const char* const ${SYMBOL};\nconst char* const ${SYMBOL} = R\"text(${body})text\";\n}\n")
