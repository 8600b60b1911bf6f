#include "textflag.h"

// func dots(to, rows, x *float32, count, n int)
// The products of count rows, n long, with x: sixteen sums side by side, each
// product rounded before it is added, as plainDot does it.
TEXT ·dots(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ x+16(FP), BX
	MOVQ count+24(FP), CX
	MOVQ n+32(FP), DX

row:
	TESTQ CX, CX
	JZ   done
	MOVQ BX, R8
	MOVQ DX, R9
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

pair:
	CMPQ R9, $16
	JLT  last
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VMULPS (R8), Y2, Y2
	VMULPS 32(R8), Y3, Y3
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	ADDQ $64, SI
	ADDQ $64, R8
	SUBQ $16, R9
	JMP  pair

last:
	TESTQ R9, R9
	JZ   sum
	VMOVUPS (SI), Y2
	VMULPS (R8), Y2, Y2
	VADDPS Y2, Y0, Y0
	ADDQ $32, SI

sum:
	VADDPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VMOVHLPS X0, X0, X1
	VADDPS X1, X0, X0
	VMOVSHDUP X0, X1
	VADDSS X1, X0, X0
	VMOVSS X0, (DI)
	ADDQ $4, DI
	DECQ CX
	JMP  row

done:
	VZEROUPPER
	RET
