#include "textflag.h"

// func block(c, a, b *float32, n, ldc int)
// Four rows and sixteen columns of c += a·b. Products are rounded before they
// are added, so that the result is that of plain sums.
TEXT ·block(SB), NOSPLIT, $0-40
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ n+24(FP), CX
	MOVQ ldc+32(FP), R8

	LEAQ (DI)(R8*1), R12
	LEAQ (R12)(R8*1), R13
	LEAQ (R13)(R8*1), DX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS (R12), Y2
	VMOVUPS 32(R12), Y3
	VMOVUPS (R13), Y4
	VMOVUPS 32(R13), Y5
	VMOVUPS (DX), Y6
	VMOVUPS 32(DX), Y7

	TESTQ CX, CX
	JZ   done

loop:
	VMOVUPS (BX), Y8
	VMOVUPS 32(BX), Y9
	VBROADCASTSS (SI), Y10
	VBROADCASTSS 4(SI), Y11
	VBROADCASTSS 8(SI), Y12
	VBROADCASTSS 12(SI), Y13
	VMULPS Y8, Y10, Y14
	VMULPS Y9, Y10, Y15
	VADDPS Y14, Y0, Y0
	VADDPS Y15, Y1, Y1
	VMULPS Y8, Y11, Y14
	VMULPS Y9, Y11, Y15
	VADDPS Y14, Y2, Y2
	VADDPS Y15, Y3, Y3
	VMULPS Y8, Y12, Y14
	VMULPS Y9, Y12, Y15
	VADDPS Y14, Y4, Y4
	VADDPS Y15, Y5, Y5
	VMULPS Y8, Y13, Y14
	VMULPS Y9, Y13, Y15
	VADDPS Y14, Y6, Y6
	VADDPS Y15, Y7, Y7
	ADDQ $16, SI
	ADDQ $64, BX
	DECQ CX
	JNZ  loop

done:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, (R12)
	VMOVUPS Y3, 32(R12)
	VMOVUPS Y4, (R13)
	VMOVUPS Y5, 32(R13)
	VMOVUPS Y6, (DX)
	VMOVUPS Y7, 32(DX)
	VZEROUPPER
	RET

// LOGISTIC turns X into 1/(1+exp(-X)), as logistic does, operation by
// operation. Y12 to Y15 are lost; Y15 is 1 afterwards.
#define LOGISTIC(X) \
	VXORPS Y15, Y15, Y15; \
	VSUBPS X, Y15, X; \
	VBROADCASTSS ·numbers+4(SB), Y15; \
	VMAXPS Y15, X, X; \
	VBROADCASTSS ·numbers+0(SB), Y15; \
	VMINPS Y15, X, X; \
	VBROADCASTSS ·numbers+8(SB), Y15; \
	VMULPS Y15, X, Y13; \
	VBROADCASTSS ·numbers+12(SB), Y15; \
	VADDPS Y15, Y13, Y13; \
	VROUNDPS $1, Y13, Y13; \
	VBROADCASTSS ·numbers+16(SB), Y15; \
	VMULPS Y15, Y13, Y14; \
	VSUBPS Y14, X, X; \
	VBROADCASTSS ·numbers+20(SB), Y15; \
	VMULPS Y15, Y13, Y14; \
	VSUBPS Y14, X, X; \
	VBROADCASTSS ·numbers+24(SB), Y15; \
	VMULPS Y15, X, Y14; \
	VBROADCASTSS ·numbers+28(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VBROADCASTSS ·numbers+32(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VBROADCASTSS ·numbers+36(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VBROADCASTSS ·numbers+40(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VBROADCASTSS ·numbers+44(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VMULPS X, Y14, Y14; \
	VADDPS X, Y14, Y14; \
	VBROADCASTSS ·numbers+48(SB), Y15; \
	VADDPS Y15, Y14, Y14; \
	VCVTTPS2DQ Y13, Y13; \
	VBROADCASTSS ·numbers+52(SB), Y12; \
	VPADDD Y12, Y13, Y13; \
	VPSLLD $23, Y13, Y13; \
	VMULPS Y13, Y14, X; \
	VADDPS X, Y15, X; \
	VDIVPS X, Y15, X

// func gatesOf(gate, late, before, after, bias *float32, units int)
TEXT ·gatesOf(SB), NOSPLIT, $0-48
	MOVQ gate+0(FP), DI
	MOVQ late+8(FP), SI
	MOVQ before+16(FP), BX
	MOVQ after+24(FP), DX
	MOVQ bias+32(FP), R8
	MOVQ units+40(FP), CX
	MOVQ CX, R9
	SHLQ $2, R9 // bytes from a gate to the next

units:
	VMOVUPS (DI), Y0
	VADDPS (SI), Y0, Y0
	LOGISTIC(Y0) // update
	VMOVUPS (DI)(R9*1), Y1
	VADDPS (SI)(R9*1), Y1, Y1
	LOGISTIC(Y1) // reset
	VMOVUPS (SI)(R9*2), Y2
	VADDPS (R8), Y2, Y2
	VMOVUPS Y2, (SI)(R9*2)
	VMULPS Y2, Y1, Y3
	VMOVUPS (DI)(R9*2), Y4
	VADDPS Y3, Y4, Y4
	VADDPS Y4, Y4, Y4
	LOGISTIC(Y4)
	VADDPS Y4, Y4, Y4
	VSUBPS Y15, Y4, Y4 // candidate
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R9*1)
	VMOVUPS Y4, (DI)(R9*2)
	VMOVUPS (BX), Y5
	VSUBPS Y4, Y5, Y5
	VMULPS Y5, Y0, Y5
	VADDPS Y5, Y4, Y5
	VMOVUPS Y5, (DX)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, BX
	ADDQ $32, DX
	ADDQ $32, R8
	SUBQ $8, CX
	JNZ  units
	VZEROUPPER
	RET

// func slopesOf(gate, late, before, after, dgate, dlate, dbefore *float32, units int)
TEXT ·slopesOf(SB), NOSPLIT, $0-64
	MOVQ gate+0(FP), DI
	MOVQ late+8(FP), SI
	MOVQ before+16(FP), BX
	MOVQ after+24(FP), DX
	MOVQ dgate+32(FP), R8
	MOVQ dlate+40(FP), R10
	MOVQ dbefore+48(FP), R11
	MOVQ units+56(FP), CX
	MOVQ CX, R9
	SHLQ $2, R9
	VBROADCASTSS ·numbers+48(SB), Y15

units:
	VMOVUPS (DI), Y0          // update
	VMOVUPS (DI)(R9*1), Y1    // reset
	VMOVUPS (DI)(R9*2), Y2    // candidate
	VMOVUPS (DX), Y3          // slope of what came out
	VMOVUPS (BX), Y4
	VSUBPS Y2, Y4, Y4
	VMULPS Y4, Y3, Y4
	VMULPS Y0, Y4, Y4
	VSUBPS Y0, Y15, Y5        // 1 - update
	VMULPS Y5, Y4, Y4         // slope of the update
	VMULPS Y5, Y3, Y5
	VMULPS Y2, Y2, Y6
	VSUBPS Y6, Y15, Y6
	VMULPS Y6, Y5, Y5         // slope of the candidate
	VMULPS (SI)(R9*2), Y5, Y6
	VMULPS Y1, Y6, Y6
	VSUBPS Y1, Y15, Y7
	VMULPS Y7, Y6, Y6         // slope of the reset
	VMOVUPS Y4, (R8)
	VMOVUPS Y6, (R8)(R9*1)
	VMOVUPS Y5, (R8)(R9*2)
	VMOVUPS Y4, (R10)
	VMOVUPS Y6, (R10)(R9*1)
	VMULPS Y1, Y5, Y5
	VMOVUPS Y5, (R10)(R9*2)
	VMULPS Y0, Y3, Y3
	VMOVUPS Y3, (R11)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, BX
	ADDQ $32, DX
	ADDQ $32, R8
	ADDQ $32, R10
	ADDQ $32, R11
	SUBQ $8, CX
	JNZ  units
	VZEROUPPER
	RET
